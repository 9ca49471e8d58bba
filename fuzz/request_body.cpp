// Any bytes as the body of a request: each API reads it or says what is wrong, in a message that is
// no longer than messages are, and a prompt made of it has its tokens in its segments.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/check.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/other_requests.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/regex_instance.hpp"
#include "openai/request.hpp"
#include "openai/schema_instance.hpp"
#include "openai/token_requests.hpp"

namespace {

namespace openai = ridgeline::openai;

void look_at(const openai::ApiResult<openai::GenerationRequest>& read, openai::ApiVersion version) {
  if (!read) {
    RIDGELINE_CHECK(read.error().status >= 400 && read.error().status < 500, "a client's error");
    RIDGELINE_CHECK(!openai::error_body(read.error(), version).empty(), "an error has a body");
    return;
  }
  if (read->schema) {
    static_cast<void>(openai::schema_instance(*read->schema));
  }
  if (read->regex) {
    static_cast<void>(openai::regex_instance(*read->regex));
  }
  if (read->is_chat()) {
    openai::PromptBuilder builder(ridgeline::core::Tokens(16), 0);
    openai::add_chat(builder,
                     read->messages,
                     read->tools_text,
                     {.fixed = 1, .per_message = 5, .start = 4},
                     true,
                     1,
                     [](std::string_view) { return std::nullopt; });
    const ridgeline::core::Tokens tokens = builder.tokens();
    ridgeline::core::Tokens sum;
    for (const auto& segment : builder.take()) {
      sum += segment.length;
    }
    RIDGELINE_CHECK(sum == tokens, "segments hold the prompt's tokens");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const openai::ApiVersion version :
       {openai::ApiVersion{.minor = 8}, openai::ApiVersion::newest()}) {
    look_at(openai::parse_completion(body, version), version);
    look_at(openai::parse_chat(body, version), version);
    look_at(openai::parse_response(body, version), version);
    look_at(openai::parse_message(body, version), version);
    look_at(openai::parse_message_to_count(body, version), version);
  }
  static_cast<void>(openai::regex_instance(body));
  static_cast<void>(openai::parse_tokenize(body));
  static_cast<void>(openai::parse_detokenize(body));
  static_cast<void>(openai::parse_adapter(body));
  return 0;
}

// Any bytes as a file tokenizer.json, up to the first line break with nothing before it, and a text
// behind it: what is read cuts the text, and no token is beyond it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "openai/text/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kBetween = "\n\n";
  const std::size_t end = std::min(all.find(kBetween), size);
  auto rules = ridgeline::text::read_tokenizer(all.substr(0, end), "tokenizer.json");
  if (!rules) {
    RIDGELINE_CHECK(!rules.error().empty(), "a refusal without a reason");
    return 0;
  }
  const ridgeline::text::Tokenizer tokenizer(std::move(*rules));
  const std::string_view text = all.substr(std::min(end + kBetween.size(), size));
  std::vector<ridgeline::text::Token> tokens;
  tokenizer.cut(text, tokens);
  // A prefix before each part between added tokens, and a byte or more of the text for each other.
  constexpr std::size_t kMostOfAByte = 16;
  RIDGELINE_CHECK(tokens.size() <= kMostOfAByte * (text.size() + 1) + size,
                  "more tokens than text");
  return 0;
}

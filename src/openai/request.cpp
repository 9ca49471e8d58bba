#include "openai/request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/body.hpp"
#include "openai/sampling.hpp"

namespace ridgeline::openai {
namespace {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;

constexpr std::int64_t kMostStops = 4;
/// Versions without that limit look for any number; each costs a look at the whole answer.
constexpr std::int64_t kMostStopsHere = 64;

std::string compact(Element element) {
  return simdjson::minify(element);
}

/// Ways to ask for structured outputs that say more than an instance can be made of.
ApiError not_emulated(std::string_view key) {
  return refused(fmt::format("{} is not emulated: this server makes answers of JSON schemas, "
                             "regular expressions and choices",
                             key),
                 std::string(key));
}

class GenerationReader {
 public:
  GenerationReader(ApiVersion version, const RequestLimits& limits, GenerationRequest& request)
      : version_(version), limits_(limits), request_(request) {}

  /// Reads every member; the first problem otherwise.
  ApiResult<void> read(Object body) {
    for (const auto member : body) {
      read_member(member.key, member.value);
      if (!reader_.is_sound()) {
        return tl::unexpected(*reader_.error());
      }
    }
    check();
    return reader_.is_sound() ? ApiResult<void>() : tl::unexpected(*reader_.error());
  }

 private:
  void read_member(std::string_view key, Element value) {
    if (key == "model") {
      reader_.text(key, value, request_.model);
    } else if (key == "prompt" && !request_.is_chat()) {
      read_prompt(value);
    } else if (key == "messages" && request_.is_chat()) {
      read_messages(value);
    } else if (key == "max_tokens") {
      reader_.integer(key, value, max_tokens_);
    } else if (key == "max_completion_tokens" && request_.is_chat()) {
      reader_.integer(key, value, max_completion_tokens_);
    } else if (key == "min_tokens") {
      if (!is_null(value)) {
        reader_.integer(key, value, request_.min_tokens);
      }
    } else if (key == "ignore_eos") {
      reader_.boolean(key, value, request_.ignore_eos);
    } else if (key == "stop") {
      reader_.texts(key, value, request_.stop);
    } else if (key == "include_stop_str_in_output") {
      reader_.boolean(key, value, request_.include_stop);
    } else if (key == "n") {
      if (!is_null(value)) {
        reader_.integer(key, value, request_.n);
      }
    } else if (key == "stream") {
      reader_.boolean(key, value, request_.stream);
    } else if (key == "stream_options") {
      read_stream_options(value);
    } else if (key == "stream_interval") {
      reader_.integer(key, value, request_.stream_interval);
    } else if (key == "echo") {
      reader_.boolean(key, value, request_.echo);
    } else if (key == "suffix" && !request_.is_chat()) {
      if (!is_null(value)) {
        reader_.fail(refused("suffix is not currently supported"));
      }
    } else {
      read_rare(key, value);
    }
  }

  void read_rare(std::string_view key, Element value) {
    if (key == "logprobs") {
      read_logprobs(key, value);
    } else if (key == "top_logprobs" && request_.is_chat()) {
      reader_.integer(key, value, top_logprobs_);
    } else if (sampling_.read(key, value, reader_)) {
      return;
    } else if (key == "priority") {
      if (!is_null(value)) {
        reader_.integer(key, value, request_.priority);
      }
    } else if (key == "cache_salt") {
      reader_.text(key, value, request_.cache_salt);
      if (!is_null(value) && request_.cache_salt.empty()) {
        reader_.fail(bad_request(
            "Value error, Parameter 'cache_salt' must be a non-empty string if provided."));
      }
    } else if (key == "request_id") {
      reader_.text(key, value, request_.request_id);
    } else if (key == "add_generation_prompt") {
      reader_.boolean(key, value, request_.add_generation_prompt);
      begins_answer_ = request_.add_generation_prompt;
    } else if (key == "continue_final_message" && request_.is_chat()) {
      reader_.boolean(key, value, continues_message_);
    } else if (key == "return_token_ids") {
      reader_.boolean(key, value, request_.return_token_ids);
    } else if (key == "vllm_xargs" || key == "kv_transfer_params") {
      read_own(key, value);
    } else {
      read_structure(key, value);
    }
  }

  void read_structure(std::string_view key, Element value) {
    if (is_null(value)) {
      return;
    }
    if (key == "response_format") {
      read_response_format(value);
    } else if (key == "guided_json") {
      take_schema(value);
    } else if (key == "guided_choice") {
      reader_.texts(key, value, request_.choices);
    } else if (key == "guided_regex") {
      reader_.text(key, value, request_.regex);
    } else if (key == "guided_grammar") {
      reader_.fail(not_emulated(key));
    } else if (key == "structured_outputs") {
      read_structured_outputs(key, value);
    } else if (key == "tools" && request_.is_chat()) {
      read_tools(key, value);
    } else if (key == "tool_choice" && request_.is_chat()) {
      read_tool_choice(key, value);
    }
  }

  void read_prompt(Element value) {
    request_.prompts.clear();
    simdjson::dom::array list;
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      if (!text.empty()) {
        request_.prompts.emplace_back(std::string(text));
      }
      return;
    }
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("prompt", "a valid string, or a list of strings or token ids");
      return;
    }
    std::vector<std::int64_t> ids;
    for (const Element item : list) {
      std::int64_t id = 0;
      simdjson::dom::array inner;
      if (item.get(text) == simdjson::SUCCESS) {
        request_.prompts.emplace_back(std::string(text));
      } else if (item.get(id) == simdjson::SUCCESS) {
        ids.push_back(id);
      } else if (item.get(inner) == simdjson::SUCCESS) {
        reader_.integers("prompt",
                         item,
                         std::get<1>(request_.prompts.emplace_back(std::vector<std::int64_t>())));
      } else {
        reader_.fail("prompt", "a list of strings, of token ids, or of lists of them");
        return;
      }
    }
    if (!ids.empty()) {
      if (!request_.prompts.empty()) {
        reader_.fail("prompt", "a list of one kind");
        return;
      }
      request_.prompts.emplace_back(std::move(ids));
    }
  }

  void read_messages(Element value) {
    request_.messages.clear();
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("messages", "a valid list");
      return;
    }
    for (const Element item : list) {
      Object object;
      if (item.get(object) != simdjson::SUCCESS) {
        reader_.fail("messages", "a list of objects");
        return;
      }
      read_message(object, request_.messages.emplace_back());
    }
  }

  void read_message(Object object, Message& message) {
    for (const auto member : object) {
      const std::string_view key = member.key;
      if (key == "role") {
        reader_.text("messages", member.value, message.role);
      } else if (key == "content") {
        read_content(member.value, message);
      } else if (key == "tool_calls" && !is_null(member.value)) {
        message.text += compact(member.value);
      }
    }
    if (message.role.empty()) {
      reader_.fail("messages", "objects with a role");
    }
  }

  void read_content(Element value, Message& message) {
    std::string_view text;
    simdjson::dom::array parts;
    if (is_null(value)) {
      return;
    }
    if (value.get(text) == simdjson::SUCCESS) {
      message.text += text;
      return;
    }
    if (value.get(parts) != simdjson::SUCCESS) {
      reader_.fail("messages", "objects whose content is a string or a list of parts");
      return;
    }
    for (const Element part : parts) {
      std::string_view kind;
      if (part.get(text) == simdjson::SUCCESS || part["text"].get(text) == simdjson::SUCCESS) {
        message.text += text;
      } else if (part["type"].get(kind) == simdjson::SUCCESS &&
                 (kind == "image_url" || kind == "input_image" || kind == "image_embeds")) {
        ++message.images;
      } else {
        reader_.fail(refused(fmt::format("Unknown part type: {}", kind), "messages"));
        return;
      }
    }
  }

  void read_stream_options(Element value) {
    has_stream_options_ = !is_null(value);
    Object object;
    if (is_null(value)) {
      return;
    }
    if (value.get(object) != simdjson::SUCCESS) {
      reader_.fail("stream_options", "a valid dictionary");
      return;
    }
    for (const auto member : object) {
      if (member.key == "include_usage") {
        reader_.boolean("stream_options", member.value, request_.include_usage);
      } else if (member.key == "continuous_usage_stats") {
        reader_.boolean("stream_options", member.value, request_.continuous_usage);
      }
    }
  }

  void read_logprobs(std::string_view key, Element value) {
    if (!request_.is_chat()) {
      reader_.integer(key, value, request_.logprobs);
      return;
    }
    bool wanted = false;
    reader_.boolean(key, value, wanted);
    request_.logprobs = wanted ? std::optional<std::int64_t>(0) : std::nullopt;
  }

  void read_own(std::string_view key, Element value) {
    Object object;
    if (is_null(value)) {
      return;
    }
    if (value.get(object) != simdjson::SUCCESS) {
      reader_.fail(key, "a valid dictionary");
      return;
    }
    for (const auto member : object) {
      if (key == "vllm_xargs" && member.key == "ridgeline_output_tokens") {
        std::int64_t tokens = 0;
        reader_.integer("vllm_xargs", member.value, tokens, 1);
        request_.output_tokens = tokens;
      } else if (key == "kv_transfer_params" && member.key == "do_remote_decode") {
        reader_.boolean("kv_transfer_params", member.value, request_.do_remote_decode);
      }
    }
  }

  void take_schema(Element value) {
    std::string_view text;
    request_.schema = value.get(text) == simdjson::SUCCESS ? std::string(text) : compact(value);
  }

  void read_response_format(Element value) {
    std::string_view kind;
    if (value["type"].get(kind) != simdjson::SUCCESS) {
      reader_.fail("response_format", "an object with a type");
      return;
    }
    Element schema;
    if (kind == "json_object") {
      request_.schema = "{\"type\":\"object\"}";
    } else if (kind == "json_schema") {
      if (value["json_schema"]["schema"].get(schema) != simdjson::SUCCESS) {
        reader_.fail("response_format", "an object with json_schema.schema");
        return;
      }
      take_schema(schema);
    } else if (kind == "structural_tag") {
      check_tags("response_format", value);
    } else if (kind != "text") {
      reader_.fail(not_emulated("response_format"));
    }
  }

  /// Structures that begin with a trigger: a text without one, as all answers here, is right.
  void check_tags(std::string_view key, Element value) {
    std::string_view text;
    simdjson::dom::parser parser;
    Element tags = value;
    if (value.get(text) == simdjson::SUCCESS &&
        parser.parse(text.data(), text.size()).get(tags) != simdjson::SUCCESS) {
      reader_.fail(key, "a structural tag in JSON");
    } else if (tags["structures"].error() != simdjson::SUCCESS ||
               tags["triggers"].error() != simdjson::SUCCESS) {
      reader_.fail(not_emulated("structural_tag without structures and triggers"));
    }
  }

  void read_structured_outputs(std::string_view key, Element value) {
    Object object;
    if (value.get(object) != simdjson::SUCCESS) {
      reader_.fail(key, "a valid dictionary");
      return;
    }
    for (const auto member : object) {
      if (is_null(member.value)) {
        continue;
      }
      if (member.key == "json") {
        take_schema(member.value);
      } else if (member.key == "choice") {
        reader_.texts(key, member.value, request_.choices);
      } else if (member.key == "json_object") {
        request_.schema = "{\"type\":\"object\"}";
      } else if (member.key == "regex") {
        reader_.text(key, member.value, request_.regex);
      } else if (member.key == "structural_tag") {
        check_tags(key, member.value);
      } else if (member.key == "grammar") {
        reader_.fail(not_emulated("grammar"));
      }
    }
  }

  void read_tools(std::string_view key, Element value) {
    request_.tools.clear();
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail(key, "a valid list");
      return;
    }
    for (const Element item : list) {
      Element function;
      std::string_view name;
      if (item["function"].get(function) != simdjson::SUCCESS ||
          function["name"].get(name) != simdjson::SUCCESS) {
        reader_.fail(key, "a list of objects with a function that has a name");
        return;
      }
      request_.tools.push_back(compact(function));
      tool_names_.emplace_back(name);
    }
    request_.tools_text = compact(value);
  }

  void read_tool_choice(std::string_view key, Element value) {
    std::string_view text;
    has_tool_choice_ = true;
    if (value.get(text) == simdjson::SUCCESS) {
      if (text == "none") {
        request_.tool_choice = ToolChoice::kNone;
        has_tool_choice_ = false;
        is_choice_none_ = true;
      } else if (text == "auto") {
        request_.tool_choice = ToolChoice::kAuto;
      } else if (text == "required") {
        request_.tool_choice = ToolChoice::kRequired;
      } else {
        reader_.fail(key, "'none', 'auto', 'required' or a named function");
      }
      return;
    }
    if (value["function"]["name"].get(text) != simdjson::SUCCESS) {
      reader_.fail(key, "'none', 'auto', 'required' or a named function");
      return;
    }
    request_.tool_choice = ToolChoice::kNamed;
    request_.tool_name = text;
  }

  void check() {
    request_.max_tokens = max_completion_tokens_ ? max_completion_tokens_ : max_tokens_;
    request_.truncate_prompt_tokens = sampling_.truncate_prompt_tokens();
    request_.prompt_logprobs = sampling_.prompt_logprobs();
    request_.biased_tokens = sampling_.biased_tokens();
    validate_logprobs();
    if (top_logprobs_ && request_.logprobs) {
      request_.logprobs = top_logprobs_;
    }
    if (has_stream_options_ && !request_.stream) {
      reader_.fail(
          bad_request("Value error, Stream options can only be defined when "
                      "`stream=True`.",
                      "stream_options"));
    } else if (request_.is_chat() && request_.messages.empty()) {
      reader_.fail(bad_request("messages: Field required, and not empty", "messages"));
    } else if (!request_.is_chat() && request_.prompts.empty()) {
      reader_.fail(
          bad_request("Value error, Either prompt or prompt_embeds must be provided and "
                      "non-empty.",
                      "prompt"));
    } else if (version_ >= kFourStops && std::ssize(request_.stop) > kMostStops) {
      reader_.fail(
          bad_request(fmt::format("Value error, `stop` must have at most {} strings", kMostStops)));
    } else if (begins_answer_ && continues_message_) {
      reader_.fail(
          bad_request("Value error, Cannot set both `continue_final_message` and "
                      "`add_generation_prompt` to True."));
    } else {
      sampling_.validate(request_.stream, reader_);
      sampling_.check(limits_.logprobs, reader_);
      check_numbers();
      check_tools();
    }
  }

  void validate_logprobs() {
    if (!request_.is_chat() && request_.logprobs && *request_.logprobs < 0) {
      reader_.fail(bad_request("Value error, `logprobs` must be a positive value.", "logprobs"));
    } else if (top_logprobs_ && *top_logprobs_ < -1) {
      reader_.fail(bad_request("Value error, `top_logprobs` must be a positive value or -1.",
                               "top_logprobs"));
    } else if (top_logprobs_ && *top_logprobs_ != 0 && !request_.logprobs) {
      reader_.fail(
          bad_request("Value error, when using `top_logprobs`, `logprobs` must be set to true.",
                      "top_logprobs"));
    }
  }

  void check_numbers() {
    const std::int64_t lowest = request_.echo && !request_.is_chat() ? 0 : 1;
    const auto refuse = [&](std::string message, std::optional<std::string> param) {
      reader_.fail(refused(std::move(message), std::move(param)));
    };
    if (request_.max_tokens && *request_.max_tokens < lowest) {
      refuse(fmt::format("max_tokens must be at least 1, got {}.", *request_.max_tokens),
             max_completion_tokens_ ? "max_completion_tokens" : "max_tokens");
    } else if (request_.min_tokens < 0) {
      refuse(fmt::format("min_tokens must be greater than or equal to 0, got {}.",
                         request_.min_tokens),
             std::nullopt);
    } else if (request_.max_tokens && request_.min_tokens > *request_.max_tokens) {
      refuse(fmt::format("min_tokens must be less than or equal to max_tokens={}, got {}.",
                         *request_.max_tokens,
                         request_.min_tokens),
             std::nullopt);
    } else if (request_.n < 1) {
      refuse(fmt::format("n must be at least 1, got {}.", request_.n), "n");
    } else if (request_.n > limits_.n) {
      refuse(fmt::format("n must be at most {}, got {}.", limits_.n, request_.n), "n");
    } else if (request_.logprobs &&
               (*request_.logprobs < 0 ||
                (limits_.logprobs >= 0 && *request_.logprobs > limits_.logprobs))) {
      refuse(fmt::format("Requested sample logprobs of {}, which is greater than max allowed: {}",
                         *request_.logprobs,
                         limits_.logprobs),
             "logprobs");
    } else if (std::ssize(request_.prompts) > limits_.prompts) {
      refuse(fmt::format("prompt has {} entries, expected at most {}",
                         request_.prompts.size(),
                         limits_.prompts),
             "prompt");
    } else if (request_.priority != 0 && version_ < kPriorityAccepted) {
      refuse("V1 does not support priority yet.", std::nullopt);
    } else if (request_.stream_interval && *request_.stream_interval < 1) {
      refuse(fmt::format("stream_interval must be at least 1, got {}.", *request_.stream_interval),
             "stream_interval");
    } else if (std::ssize(request_.stop) > kMostStopsHere) {
      refuse(fmt::format("this server looks for at most {} stop strings", kMostStopsHere), "stop");
    } else if (std::ranges::any_of(request_.stop, &std::string::empty)) {
      refuse("stop cannot contain an empty string.", "stop");
    }
  }

  void check_tools() {
    if (has_tool_choice_ && request_.tools.empty()) {
      reader_.fail(bad_request("Value error, When using `tool_choice`, `tools` must be set.",
                               "tool_choice"));
    } else if (!request_.tools.empty() && !has_tool_choice_ && !is_choice_none_) {
      request_.tool_choice = ToolChoice::kAuto;
    }
    if (request_.tool_choice == ToolChoice::kNamed &&
        std::ranges::find(tool_names_, request_.tool_name) == tool_names_.end()) {
      reader_.fail(
          bad_request("Value error, The tool specified in `tool_choice` does not match "
                      "any of the specified `tools`",
                      "tool_choice"));
    }
  }

  ApiVersion version_;
  RequestLimits limits_;
  GenerationRequest& request_;
  BodyReader reader_;
  SamplingReader sampling_;
  std::optional<std::int64_t> max_tokens_;
  std::optional<std::int64_t> max_completion_tokens_;
  std::optional<std::int64_t> top_logprobs_;
  bool has_stream_options_ = false;
  bool begins_answer_ = false;  ///< Its client says so.
  bool continues_message_ = false;
  bool has_tool_choice_ = false;
  bool is_choice_none_ = false;
  std::vector<std::string> tool_names_;
};

ApiResult<GenerationRequest> parse(std::string_view text,
                                   Api api,
                                   ApiVersion version,
                                   const RequestLimits& limits) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  GenerationRequest request;
  request.api = api;
  if (const auto done = GenerationReader(version, limits, request).read(body->object()); !done) {
    return tl::unexpected(done.error());
  }
  return request;
}

}  // namespace

ApiResult<GenerationRequest> parse_completion(std::string_view body,
                                              ApiVersion version,
                                              const RequestLimits& limits) {
  return parse(body, Api::kCompletions, version, limits);
}

ApiResult<GenerationRequest> parse_chat(std::string_view body,
                                        ApiVersion version,
                                        const RequestLimits& limits) {
  return parse(body, Api::kChat, version, limits);
}

}  // namespace ridgeline::openai

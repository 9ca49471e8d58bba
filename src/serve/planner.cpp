#include "serve/planner.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.hpp"
#include "openai/answer_text.hpp"
#include "openai/answers.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/regex_instance.hpp"
#include "openai/request.hpp"
#include "openai/schema_instance.hpp"
#include "openai/tools.hpp"
#include "serve/generation.hpp"
#include "serve/generations.hpp"
#include "serve/settings.hpp"
#include "workload/lengths.hpp"
#include "workload/options.hpp"

namespace ridgeline::serve {
namespace {

using openai::ApiError;
using openai::ApiResult;
using openai::GenerationRequest;
using openai::ToolChoice;

/// vLLM's default of a completion.
constexpr std::int64_t kCompletionTokens = 16;

/// Where a client states no limit, answers have this mean and this standard deviation.
constexpr double kMeanAnswer = 256.0;
constexpr double kAnswerSpread = 256.0;

/// One prompt of a request.
struct PlannedPrompt {
  domain::Prompt prompt;
  std::int64_t tokens = 0;
  std::string text;
  std::int64_t images = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> token_ids = {};
  std::optional<openai::AnswerText> echo = {};  ///< Its text as an answer.
};

/// Bytes of a text in JSON.
std::size_t quoted_size(std::string_view text) {
  constexpr std::size_t kOfControl = 6;  // "\u0001"
  std::size_t bytes = 0;
  for (const char c : text) {
    bytes += static_cast<unsigned char>(c) < ' ' ? kOfControl : c == '"' || c == '\\' ? 2 : 1;
  }
  return bytes;
}

ApiError too_long(std::int64_t prompt, std::int64_t output, std::int64_t longest) {
  return openai::refused(
      fmt::format("This model's maximum context length is {} tokens. However, you requested {} "
                  "output tokens and your prompt contains at least {} input tokens, for a total of "
                  "at least {} tokens. Please reduce the length of the input prompt or the number "
                  "of requested output tokens.",
                  longest,
                  output,
                  prompt,
                  prompt + output),
      "input_tokens");
}

/// The answer's id. That of a response follows no header, and stands as it is where its client
/// chose it.
std::string id_of(const GenerationRequest& wanted,
                  const std::string& own,
                  const std::string& random) {
  switch (wanted.api) {
    case openai::Api::kCompletions:
      return "cmpl-" + own;
    case openai::Api::kResponses:
      return wanted.request_id.value_or("resp_" + random);
    case openai::Api::kChat:
    case openai::Api::kMessages:
      break;
  }
  return "chatcmpl-" + own;
}

class Planner {
 public:
  Planner(const GenerationRequest& wanted,
          const Settings& settings,
          const PlanFacts& facts,
          const openai::FindAnswer& find_answer)
      : wanted_(wanted), settings_(settings), facts_(facts), find_answer_(find_answer) {}

  ApiResult<Plan> make() {
    if (auto done = check_tools(); !done) {
      return tl::unexpected(done.error());
    }
    if (auto done = check_bias(); !done) {
      return tl::unexpected(done.error());
    }
    for (const auto step : {&Planner::add_prompts, &Planner::fix_text}) {
      if (auto done = (this->*step)(); !done) {
        return tl::unexpected(done.error());
      }
    }
    fill_head();
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      for (std::int64_t k = 0; k < wanted_.n; ++k) {
        if (auto done = add_choice(i); !done) {
          return tl::unexpected(done.error());
        }
      }
    }
    return std::move(plan_);
  }

 private:
  /// Which tool the answer calls; none where it answers in words.
  ApiResult<void> check_tools() {
    if (wanted_.tools.empty() || wanted_.tool_choice == ToolChoice::kNone) {
      return {};
    }
    if (wanted_.tool_choice == ToolChoice::kAuto &&
        !(settings_.has_auto_tools && settings_.has_tool_parser)) {
      return tl::unexpected(openai::refused(
          "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be "
          "set"));
    }
    if (!settings_.has_tool_parser) {
      return tl::unexpected(openai::refused(fmt::format(
          "tool_choice=\"{}\" requires --tool-call-parser to be set",
          wanted_.tool_choice == ToolChoice::kRequired ? "required" : wanted_.tool_name)));
    }
    return {};
  }

  ApiResult<void> check_bias() {
    std::vector<std::int64_t> unknown;
    std::ranges::copy_if(wanted_.biased_tokens, std::back_inserter(unknown), [&](std::int64_t id) {
      return id < 0 || id >= facts_.vocabulary;
    });
    if (unknown.empty()) {
      return {};
    }
    return tl::unexpected(openai::refused(
        fmt::format("token_id(s) [{}] in logit_bias contain out-of-vocab token ids. Vocabulary "
                    "size: {}",
                    fmt::join(unknown, ", "),
                    facts_.vocabulary),
        "logit_bias"));
  }

  [[nodiscard]] openai::PromptBuilder builder_of(std::uint64_t salt) const {
    openai::PromptBuilder builder(facts_.block_size, salt, settings_.tokenizer.get());
    if (needs_ids()) {
      builder.keep_ids();
    }
    return builder;
  }

  /// Whether the ids of a prompt's tokens are shown.
  [[nodiscard]] bool needs_ids() const {
    return settings_.kv_events || wanted_.return_token_ids || wanted_.prompt_logprobs;
  }

  /// What `fill` puts into a prompt, or the end of it that its client wants.
  template <class Fill>
  [[nodiscard]] openai::PromptBuilder built(std::uint64_t salt, Fill fill) const {
    openai::PromptBuilder builder = builder_of(salt);
    fill(builder);
    const std::int64_t wanted = wanted_.truncate_prompt_tokens.value_or(builder.tokens().value());
    const std::int64_t more =
        builder.tokens().value() - (wanted < 0 ? facts_.max_model_len : wanted);
    if (more <= 0) {
      return builder;
    }
    openai::PromptBuilder end = builder_of(salt);
    end.leave_out(more);
    fill(end);
    return end;
  }

  ApiResult<void> add_prompts() {
    if (wanted_.truncate_prompt_tokens.value_or(0) > facts_.max_model_len) {
      return tl::unexpected(openai::refused(
          "truncate_prompt_tokens value is greater than max_model_len. Please, select a smaller "
          "truncation size."));
    }
    const std::uint64_t salt = openai::hash_text(
        wanted_.cache_salt, openai::hash_text(facts_.adapter, facts_.cache_epoch));
    const auto finish = [&](openai::PromptBuilder& builder, PlannedPrompt prompt) {
      prompt.tokens = builder.tokens().value();
      plan_.is_estimate = plan_.is_estimate || builder.is_estimate();
      prompt.prompt = builder.take();
      if (needs_ids()) {
        prompt.token_ids = std::make_shared<const std::vector<std::uint32_t>>(builder.take_ids());
      }
      prompts_.push_back(std::move(prompt));
    };
    if (wanted_.is_chat()) {
      openai::PromptBuilder builder = built(salt, [this](openai::PromptBuilder& into) {
        openai::add_chat(into,
                         wanted_.messages,
                         wanted_.tools_text,
                         settings_.chat_tokens,
                         wanted_.add_generation_prompt,
                         settings_.image_tokens,
                         find_answer_);
      });
      PlannedPrompt prompt;
      for (const openai::Message& message : wanted_.messages) {
        prompt.images += message.images;
      }
      prompt.text = wanted_.messages.back().text;
      finish(builder, std::move(prompt));
      return {};
    }
    for (const openai::PromptInput& input : wanted_.prompts) {
      PlannedPrompt prompt;
      openai::PromptBuilder builder = built(salt, [&](openai::PromptBuilder& into) {
        if (const auto* const text = std::get_if<std::string>(&input)) {
          into.add_special(settings_.bos_tokens, "begin");
          into.add_ids(settings_.begin_ids);
          into.add_text(*text);
          prompt.text = *text;
        } else {
          into.add_ids(std::get<std::vector<std::int64_t>>(input));
        }
      });
      if (builder.tokens().value() == 0) {
        return tl::unexpected(openai::refused("The decoder prompt cannot be empty", "prompt"));
      }
      finish(builder, std::move(prompt));
    }
    return {};
  }

  /// The text that the answer must have: a tool's arguments, an instance of a schema, a choice, or
  /// what is kept for the prompt.
  ApiResult<void> fix_text() {
    if (!wanted_.tools.empty() && wanted_.tool_choice != ToolChoice::kNone) {
      return fix_tool_call();
    }
    if (!wanted_.choices.empty()) {
      fixed_ = openai::AnswerText::of_text(wanted_.choices.front(), settings_.tokenizer.get());
    } else if (wanted_.regex) {
      auto text = openai::regex_instance(*wanted_.regex);
      if (!text) {
        return tl::unexpected(text.error());
      }
      fixed_ = openai::AnswerText::of_text(*text, settings_.tokenizer.get());
    } else if (wanted_.schema) {
      auto instance = openai::schema_instance(*wanted_.schema);
      if (!instance) {
        return tl::unexpected(instance.error());
      }
      fixed_ = openai::AnswerText::of_text(*instance, settings_.tokenizer.get());
    }
    return {};
  }

  ApiResult<void> fix_tool_call() {
    const std::string& function =
        wanted_.tool_choice == ToolChoice::kNamed
            ? *std::ranges::find_if(wanted_.tools,
                                    [&](const std::string& tool) {
                                      return openai::name_of_tool(tool) == wanted_.tool_name;
                                    })
            : wanted_.tools.front();
    auto arguments = openai::schema_instance(openai::parameters_of_tool(function));
    if (!arguments) {
      return tl::unexpected(arguments.error());
    }
    plan_.generation.is_tool_call = true;
    plan_.generation.head.tool_name = openai::name_of_tool(function);
    plan_.generation.head.tool_id =
        fmt::format("{}{:016x}{:016x}",
                    wanted_.api == openai::Api::kResponses ? "call_" : "chatcmpl-tool-",
                    facts_.random,
                    ~facts_.random);
    std::vector<std::string> pieces = {""};  // The name is a token of its own.
    const auto parts = openai::AnswerText::of_text(*arguments, settings_.tokenizer.get());
    for (std::int64_t i = 0; i < parts.length().value_or(0); ++i) {
      parts.append(i, pieces.emplace_back());
    }
    fixed_ = openai::AnswerText::of_pieces(std::move(pieces), settings_.tokenizer.get());
    return {};
  }

  void fill_head() {
    Generation& generation = plan_.generation;
    openai::StreamHead& head = generation.head;
    const std::string random = fmt::format("{:016x}{:016x}", facts_.random, ~facts_.random);
    const std::string own =
        !facts_.request_id.empty() ? facts_.request_id : wanted_.request_id.value_or(random);
    head.id = id_of(wanted_, own, random);
    head.created = static_cast<std::int64_t>(facts_.unix_seconds);
    head.model = wanted_.model.value_or(settings_.model_names.front());
    head.api = wanted_.api;
    head.echoed = wanted_.echoed;
    head.version = settings_.version;
    generation.shows_usage = wanted_.stream && (wanted_.include_usage || settings_.forces_usage);
    generation.shows_usage_always =
        generation.shows_usage && (wanted_.continuous_usage || settings_.forces_usage);
    head.has_usage_at_end = generation.shows_usage;
    generation.is_streamed = wanted_.stream && !wanted_.response.is_background;
    generation.is_streamed_in_background = wanted_.stream && wanted_.response.is_background;
    if (settings_.keeps_responses && wanted_.api == openai::Api::kResponses &&
        wanted_.response.is_stored) {
      generation.kept_messages = wanted_.messages;
    }
    generation.interval = wanted_.stream_interval.value_or(settings_.stream_interval);
    generation.logprobs = wanted_.logprobs;
    generation.returns_token_ids = wanted_.return_token_ids;
    generation.has_remote_decode = wanted_.do_remote_decode;
    if (settings_.echoes_request_ids) {
      generation.headers.emplace_back("x-request-id", own);
    }
    generation.returns_prompt_logprobs = wanted_.prompt_logprobs.has_value();
    for (const PlannedPrompt& prompt : prompts_) {
      generation.prompt_tokens.push_back(prompt.tokens);
      generation.prompt_ids.push_back(prompt.token_ids);
    }
    if (wanted_.return_token_ids && wanted_.is_chat()) {
      generation.head.prompt_token_ids = openai::prompt_token_ids_json(*prompts_.front().token_ids);
    }
  }

  /// Tokens of an answer with this text, of which its client asks for so many at most.
  std::int64_t length_of(const openai::AnswerText& text,
                         std::uint64_t id,
                         std::int64_t asked,
                         bool is_all,
                         bool& ends_by_itself) const {
    std::int64_t tokens = 0;
    if (is_all) {
      const std::int64_t whole = std::max<std::int64_t>(*text.length(), 1);
      tokens = std::min(whole, asked);
      ends_by_itself = whole <= asked;
    } else if (wanted_.output_tokens) {
      tokens = std::min(*wanted_.output_tokens, asked);
      ends_by_itself = tokens < asked;
    } else if (wanted_.ignore_eos || wanted_.min_tokens == asked || asked == 0) {
      tokens = asked;
    } else {
      tokens = std::clamp(drawn_length(settings_, id, asked, wanted_.max_tokens.has_value()),
                          std::min(std::max<std::int64_t>(wanted_.min_tokens, 1), asked),
                          asked);
      ends_by_itself = tokens < asked;
    }
    return tokens;
  }

  /// Adds what a choice takes of the answer's JSON, at most, where all of it is in memory at a
  /// time.
  ApiResult<void> weigh(const PlannedPrompt& prompt, const ChoiceState& choice) {
    constexpr std::size_t kFrame = 512;
    constexpr std::size_t kWord = 12;    // A token of the server's own words, or of a vocabulary.
    constexpr std::size_t kEntry = 48;   // A token's logprob, beside the token.
    constexpr std::size_t kPerByte = 4;  // A byte of a token that is shown as a list of bytes.
    constexpr std::size_t kId = 12;
    const bool is_whole = !wanted_.stream || wanted_.api == openai::Api::kResponses ||
                          wanted_.api == openai::Api::kMessages;
    if (!is_whole && wanted_.stop.empty()) {
      return {};
    }
    const auto tokens = static_cast<std::size_t>(choice.length);
    const auto prompt_tokens = static_cast<std::size_t>(prompt.tokens);
    const std::size_t echoed = wanted_.echo && !wanted_.is_chat() ? quoted_size(prompt.text) : 0;
    const std::size_t text =
        (choice.text.length() ? quoted_size(choice.text.text(choice.length)) : kWord * tokens) +
        echoed;
    std::size_t bytes = kFrame + text;
    if (wanted_.logprobs && wanted_.is_chat()) {
      bytes += (1 + static_cast<std::size_t>(std::max<std::int64_t>(*wanted_.logprobs, 0))) *
               (kEntry * tokens + (1 + kPerByte) * text);
    } else if (wanted_.logprobs) {
      bytes += kEntry * (tokens + (echoed > 0 ? prompt_tokens : 0)) + 2 * text;
    }
    if (wanted_.return_token_ids) {
      bytes += kId * (tokens + prompt_tokens);
    }
    if (wanted_.prompt_logprobs) {
      bytes += 2 * kEntry * prompt_tokens + quoted_size(prompt.text);
    }
    answer_bytes_ += bytes;
    if (answer_bytes_ <= kMostAnswerBytes) {
      return {};
    }
    return tl::unexpected(openai::refused(
        fmt::format("an answer of more than {} MiB is not given at once: ask for fewer tokens, "
                    "choices or log probabilities, or for a stream",
                    kMostAnswerBytes >> 20U),
        "max_tokens"));
  }

  ApiResult<void> add_choice(std::size_t of_prompt) {
    PlannedPrompt& prompt = prompts_[of_prompt];
    const std::int64_t room = facts_.max_model_len - prompt.tokens;
    const std::int64_t asked =
        wanted_.max_tokens.value_or(wanted_.is_chat() ? room : kCompletionTokens);
    if (room < std::max<std::int64_t>(asked, 1)) {
      return tl::unexpected(
          too_long(prompt.tokens, std::max<std::int64_t>(asked, 1), facts_.max_model_len));
    }
    plan_.generation.head.most_tokens = asked;
    const auto id = static_cast<std::uint64_t>(facts_.first_id) + plan_.requests.size();
    ChoiceState choice;
    choice.prompt = of_prompt;
    bool is_all = fixed_.has_value();  // The text is as long as it is.
    choice.text = text_for(prompt, id, is_all);
    bool ends_by_itself = false;
    const std::int64_t tokens = length_of(choice.text, id, asked, is_all, ends_by_itself);
    choice.length = tokens;
    if (auto room_left = weigh(prompt, choice); !room_left) {
      return tl::unexpected(room_left.error());
    }
    std::int64_t computed = std::max<std::int64_t>(tokens, 1);
    choice.finish.reason = ends_by_itself ? "stop" : "length";
    if (plan_.generation.is_tool_call && ends_by_itself) {
      choice.finish.reason = wanted_.tool_choice == ToolChoice::kNamed ? "stop" : "tool_calls";
    }
    if (auto stopped = openai::find_stop(
            choice.text, tokens, wanted_.min_tokens, wanted_.stop, wanted_.include_stop)) {
      // The server finds it a step after the engine made it, which makes one token more.
      computed = std::min(stopped->tokens + 1, tokens);
      choice.length = stopped->tokens;
      choice.whole = std::move(stopped->text);
      choice.finish = {.reason = "stop", .stop = std::move(stopped->stop)};
      ends_by_itself = true;
    }
    if (settings_.reasoning_share > 0.0 && wanted_.is_chat() && !fixed_ && !choice.whole) {
      choice.reasoning_tokens = static_cast<std::int64_t>(
          std::floor(static_cast<double>(choice.length) * settings_.reasoning_share));
    }
    if (wanted_.echo && !wanted_.is_chat()) {
      choice.prefix = prompt.text;
    }
    EngineRequest one;
    one.request.prompt = prompt.prompt;
    one.request.prompt_tokens = core::Tokens(prompt.tokens);
    one.request.output_tokens = core::Tokens(computed);
    one.request.max_tokens = core::Tokens(std::max(asked, computed));
    one.request.priority = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(wanted_.priority, -kMostPriority, kMostPriority));
    one.request.images = static_cast<std::int32_t>(prompt.images);
    one.adapter = facts_.adapter;
    one.how = ends_by_itself ? Finished::kStop : Finished::kLength;
    one.n = wanted_.n;
    one.visible_tokens = choice.length;
    one.asked_tokens = asked;
    one.token_ids = prompt.token_ids;
    plan_.requests.push_back(std::move(one));
    plan_.generation.choices.push_back(std::move(choice));
    return {};
  }

  [[nodiscard]] openai::AnswerText text_for(PlannedPrompt& prompt,
                                            std::uint64_t id,
                                            bool& is_all) const {
    if (fixed_) {
      return *fixed_;
    }
    if (settings_.answer == AnswerKind::kEcho && !prompt.text.empty()) {
      if (!prompt.echo) {
        prompt.echo = openai::AnswerText::of_text(prompt.text, settings_.tokenizer.get());
      }
      return *prompt.echo;
    }
    if (settings_.answer == AnswerKind::kFile) {
      const auto found = settings_.answers.find(openai::hash_text(prompt.text));
      if (found != settings_.answers.end()) {
        is_all = true;
        return openai::AnswerText::of_text(found->second, settings_.tokenizer.get());
      }
    }
    return openai::AnswerText::of_words(settings_.seed, id, settings_.tokenizer.get());
  }

  /// A trace holds priorities within it.
  static constexpr std::int64_t kMostPriority = 1'000'000'000;

  const GenerationRequest& wanted_;
  const Settings& settings_;
  const PlanFacts& facts_;
  const openai::FindAnswer& find_answer_;
  std::vector<PlannedPrompt> prompts_;
  std::optional<openai::AnswerText> fixed_;
  std::size_t answer_bytes_ = 0;  ///< At most; of what all choices so far take.
  Plan plan_;
};

}  // namespace

ApiResult<Plan> make_plan(const GenerationRequest& wanted,
                          const Settings& settings,
                          const PlanFacts& facts,
                          const openai::FindAnswer& find_answer) {
  return Planner(wanted, settings, facts, find_answer).make();
}

std::int64_t drawn_length(const Settings& settings,
                          std::uint64_t request,
                          std::int64_t limit,
                          bool is_limit_stated) {
  if (!settings.output_len) {
    if (is_limit_stated) {
      return limit;
    }
    const workload::Length usual = workload::LognormalLength{.mean = kMeanAnswer,
                                                             .std = kAnswerSpread,
                                                             .lowest = core::Tokens(1),
                                                             .highest = core::Tokens(limit)};
    return workload::LengthSampler(usual, settings.seed, request, "answers").draw().value();
  }
  return workload::LengthSampler(*settings.output_len, settings.seed, request, "answers")
      .draw()
      .value();
}

}  // namespace ridgeline::serve

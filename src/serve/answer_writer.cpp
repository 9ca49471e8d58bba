#include "serve/answer_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "openai/answer_text.hpp"
#include "openai/answers.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/stream_events.hpp"
#include "serve/generation.hpp"
#include "serve/net/connection.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {
namespace {

constexpr std::string_view kEventStream = "text/event-stream; charset=utf-8";

/// A chunk for each event: a client that reads chunks gets them one by one. The last event of all
/// leaves with the stream's end: a write fewer.
void send_events(Generation& generation, std::string_view events, bool are_last = false) {
  constexpr std::string_view kEnd = "\n\n";
  while (!events.empty()) {
    const std::size_t end = events.find(kEnd);
    const std::size_t size = end == std::string_view::npos ? events.size() : end + kEnd.size();
    if (generation.events_to_skip > 0) {
      --generation.events_to_skip;
    } else if (are_last && size == events.size()) {
      generation.connection->send_with_end(events);
    } else {
      generation.connection->send(events.substr(0, size));
    }
    events.remove_prefix(size);
  }
}

/// JSON of the tokens of a choice's prompt, where its client asked for them.
std::string prompt_ids_of(const Generation& generation, const ChoiceState& choice) {
  return generation.returns_token_ids
             ? openai::prompt_token_ids_json(*generation.prompt_ids[choice.prompt])
             : "null";
}

/// JSON for the tokens of a choice that are to be written next, up to `end`.
std::string logprobs_of(const Generation& generation, const ChoiceState& choice, std::int64_t end) {
  if (!generation.logprobs) {
    return "null";
  }
  const bool is_first = choice.sent == 0;
  return openai::logprobs_json(choice.text,
                               choice.sent,
                               end,
                               *generation.logprobs,
                               generation.head.api != openai::Api::kCompletions,
                               is_first ? 0 : std::ssize(choice.prefix) + choice.characters,
                               is_first ? std::string_view(choice.prefix) : std::string_view());
}

}  // namespace

AnswerWriter::AnswerWriter(const Settings& settings,
                           const std::function<void(const net::Connection&)>& touch)
    : settings_(settings), touch_(touch) {}

void AnswerWriter::begin_stream(Generation& generation) {
  if (!generation.has_begun) {
    generation.has_begun = true;
    generation.connection->begin_stream(kEventStream, generation.headers);
    touch_(*generation.connection);
  }
}

void AnswerWriter::write(Generation& generation, ChoiceState& choice) {
  if (!choice.gives_event(generation.interval)) {
    return;
  }
  begin_stream(generation);
  net::Connection& connection = *generation.connection;
  if (!connection.can_send()) {
    return;
  }
  write_start(generation, choice);
  write_events(generation, choice, choice.released);
  if (generation.fault && generation.fault->kind == Fault::Kind::kDisconnect &&
      choice.sent >= generation.fault->after_tokens) [[unlikely]] {
    connection.kill();
    lost_.push_back(&connection);
  }
  if (!connection.can_send() || connection.is_dead()) {
    touch_(connection);
  }
}

void AnswerWriter::write_start(Generation& generation, ChoiceState& choice) {
  if (!choice.has_start) {
    choice.has_start = true;
    scratch_.clear();
    generation.form->add_start(&choice - generation.choices.data(),
                               usage_of(generation, choice),
                               generation.shows_usage_always,
                               scratch_);
    send_events(generation, scratch_);
  }
}

void AnswerWriter::write_events(Generation& generation, ChoiceState& choice, std::int64_t upto) {
  net::Connection& connection = *generation.connection;
  const bool is_chat = generation.head.api != openai::Api::kCompletions;
  while (choice.sent < upto && connection.can_send()) {
    std::int64_t end = upto;
    openai::DeltaKind kind = openai::DeltaKind::kContent;
    if (generation.is_tool_call) {
      kind = choice.sent == 0 ? openai::DeltaKind::kToolName : openai::DeltaKind::kToolArguments;
      end = choice.sent == 0 ? 1 : upto;
    } else if (choice.sent < choice.reasoning_tokens) {
      kind = openai::DeltaKind::kReasoning;
      end = std::min(upto, choice.reasoning_tokens);
    }
    end = generation.is_follower ? choice.sent + 1 : end;
    text_.clear();
    if (choice.sent == 0) {
      text_ = choice.prefix;
    }
    const std::size_t own = text_.size();
    for (std::int64_t i = choice.sent; i < end; ++i) {
      choice.text.append(i, text_);
    }
    if (choice.whole) {
      // Nothing of a stop string is shown, wherever in it a token begins.
      const auto from = static_cast<std::size_t>(choice.characters);
      const std::size_t room = choice.whole->size() > from ? choice.whole->size() - from : 0;
      text_.resize(own + std::min(text_.size() - own, room));
    }
    const std::optional<openai::Finish> finish =
        end >= choice.length ? std::optional(choice.finish) : std::nullopt;
    choice.has_finish = finish.has_value();
    const std::string logprobs = logprobs_of(generation, choice, end);
    const std::string prompt_ids =
        !is_chat && choice.sent == 0 ? prompt_ids_of(generation, choice) : "null";
    const std::string ids = generation.returns_token_ids
                                ? openai::token_ids_json(choice.text, choice.sent, end)
                                : "null";
    choice.characters += std::ssize(text_) - static_cast<std::int64_t>(own);
    const std::int64_t first = std::exchange(choice.sent, end);
    const openai::Usage usage = usage_of(generation, choice);
    scratch_.clear();
    generation.form->add_tokens({.index = &choice - generation.choices.data(),
                                 .text = text_,
                                 .kind = kind,
                                 .logprobs = logprobs,
                                 .token_ids = ids,
                                 .prompt_token_ids = prompt_ids,
                                 .finish = &finish,
                                 .usage = generation.shows_usage_always ? &usage : nullptr,
                                 .answer = &choice.text,
                                 .first = first},
                                scratch_);
    send_events(generation, scratch_);
  }
}

bool AnswerWriter::write_end(Generation& generation) {
  net::Connection& connection = *generation.connection;
  begin_stream(generation);
  for (ChoiceState& choice : generation.choices) {
    write(generation, choice);
    if (!choice.has_finish && choice.sent >= choice.length && connection.can_send()) {
      // No token carries its end: a prompt that comes back alone, or a request that was aborted.
      choice.has_finish = true;
      write_start(generation, choice);
      const std::optional<openai::Finish> finish = choice.finish;
      const bool is_alone = choice.sent == 0 && generation.head.api == openai::Api::kCompletions;
      const std::string logprobs = is_alone ? logprobs_of(generation, choice, 0) : "null";
      const std::string prompt_ids = is_alone ? prompt_ids_of(generation, choice) : "null";
      scratch_.clear();
      generation.form->add_tokens(
          {.index = &choice - generation.choices.data(),
           .text = choice.sent == 0 ? std::string_view(choice.prefix) : std::string_view(),
           .logprobs = logprobs,
           .prompt_token_ids = prompt_ids,
           .finish = &finish},
          scratch_);
      send_events(generation, scratch_);
    }
  }
  const bool is_written = std::ranges::all_of(
      generation.choices, [](const ChoiceState& choice) { return choice.sent >= choice.length; });
  if (!is_written || !connection.can_send()) {
    return false;
  }
  scratch_.clear();
  const bool has_choices = generation.head.api == openai::Api::kResponses ||
                           generation.head.api == openai::Api::kMessages;
  generation.form->add_end(has_choices ? choices_of(generation) : std::vector<openai::Choice>(),
                           usage_of(generation),
                           generation.shows_usage,
                           scratch_);
  send_events(generation, scratch_, true);
  remember(generation);
  return true;
}

void AnswerWriter::write_failure(Generation& generation, const openai::ApiError& error) {
  scratch_.clear();
  generation.form->add_failure(error, scratch_);
  send_events(generation, scratch_);
}

std::vector<openai::Choice> AnswerWriter::choices_of(const Generation& generation) const {
  const bool is_chat = generation.head.api != openai::Api::kCompletions;
  std::vector<openai::Choice> choices;
  for (const ChoiceState& state : generation.choices) {
    openai::Choice choice;
    choice.finish = state.finish;
    std::string text = state.whole ? *state.whole : state.text.text(state.length);
    if (state.reasoning_tokens > 0) {
      choice.reasoning = state.text.text(state.reasoning_tokens);
      choice.reasoning_tokens = state.reasoning_tokens;
      text.erase(0, choice.reasoning.size());
    }
    choice.text = state.prefix + text;
    if (generation.logprobs) {
      choice.logprobs = openai::logprobs_json(
          state.text, 0, state.length, *generation.logprobs, is_chat, 0, state.prefix);
    }
    if (generation.returns_token_ids) {
      choice.token_ids = openai::token_ids_json(state.text, 0, state.length);
      choice.prompt_token_ids = prompt_ids_of(generation, state);
    }
    if (generation.returns_prompt_logprobs) {
      choice.prompt_logprobs = openai::prompt_logprobs_json(*generation.prompt_ids[state.prompt],
                                                            settings_.tokenizer.get());
    }
    if (generation.is_tool_call) {
      choice.tool_name = generation.head.tool_name;
      choice.tool_id = generation.head.tool_id;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::string AnswerWriter::whole(Generation& generation) {
  std::string transfer = "null";
  if (generation.has_remote_decode) {
    transfer = R"({"do_remote_prefill":true,"do_remote_decode":false,"remote_engine_id":)"
               R"("ridgeline","remote_block_ids":[],"remote_host":"127.0.0.1","remote_port":0})";
  }
  remember(generation);
  return generation.form->whole(choices_of(generation), usage_of(generation), transfer);
}

KeptResponse AnswerWriter::kept(Generation& generation) {
  const std::vector<openai::Choice> choices = choices_of(generation);
  KeptResponse kept{.body = generation.form->whole(choices, usage_of(generation), "null"),
                    .messages = std::move(*generation.kept_messages)};
  if (generation.is_streamed_in_background) {
    kept.stream = std::make_shared<const Generation>(stream_of(generation));
  }
  // As vLLM, which passes on neither what was thought nor what was called.
  if (const std::string& text = choices.front().text; !text.empty() && !generation.is_tool_call) {
    kept.messages.push_back({.role = "assistant", .text = text});
  }
  return kept;
}

/// Later prompts may go on from these answers.
void AnswerWriter::remember(const Generation& generation) {
  for (const ChoiceState& choice : generation.choices) {
    if (choice.length > 0) {
      known_.remember(choice.whole ? *choice.whole : choice.text.text(choice.length),
                      {.request = choice.id, .tokens = core::Tokens(choice.length)});
    }
  }
}

openai::Usage AnswerWriter::usage_of(const Generation& generation) const {
  openai::Usage usage;
  for (const std::int64_t tokens : generation.prompt_tokens) {
    usage.prompt_tokens += tokens;
  }
  for (const ChoiceState& choice : generation.choices) {
    usage.completion_tokens += choice.length;
  }
  if (settings_.shows_cached_tokens) {
    usage.cached_tokens = generation.cached_tokens;
  }
  return usage;
}

openai::Usage AnswerWriter::usage_of(const Generation& generation, const ChoiceState& choice) {
  return {.prompt_tokens = generation.prompt_tokens[choice.prompt],
          .completion_tokens = choice.sent,
          .cached_tokens = std::nullopt};
}

}  // namespace ridgeline::serve

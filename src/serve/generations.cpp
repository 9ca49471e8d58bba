#include "serve/generations.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/token_sink.hpp"
#include "engine/frontend.hpp"
#include "engine/options.hpp"
#include "live/clock.hpp"
#include "live/session.hpp"
#include "openai/answer_text.hpp"
#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/stream_events.hpp"
#include "serve/generation.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {
namespace {

using core::SimTime;

constexpr std::string_view kEventStream = "text/event-stream; charset=utf-8";

/// vLLM's words for a generation that its engine could not do.
openai::ApiError engine_error() {
  return {.status = 500,
          .type = "InternalServerError",
          .message = "Internal server error",
          .param = std::nullopt};
}

}  // namespace

Generations::Generations(const Settings& settings,
                         const engine::RequestPath& path,
                         live::WallClock& clock,
                         ServerMetrics& metrics,
                         std::function<void(const net::Connection&)> touch)
    : settings_(settings),
      path_(path),
      clock_(clock),
      metrics_(metrics),
      touch_(std::move(touch)),
      frontend_(path) {}

Generation* Generations::find(const Ref& ref) {
  Generation* const generation = slots_[ref.slot].get();
  return generation->serial == ref.serial ? generation : nullptr;
}

Generation* Generations::of(const net::Connection& connection) {
  if (connection.context == 0) {
    return nullptr;
  }
  Generation* const generation = slots_[connection.context - 1].get();
  return generation->serial != 0 && generation->connection == &connection ? generation : nullptr;
}

void Generations::begin(live::Session& session,
                        net::Connection& connection,
                        Generation generation,
                        std::vector<EngineRequest> requests) {
  session_ = &session;
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::make_unique<Generation>());
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  generation.serial = ++serials_;
  generation.connection = &connection;
  connection.context = slot + 1;
  ++num_open_;
  Generation& own = *slots_[slot];
  own = std::move(generation);
  if (own.is_streamed) {
    own.events.emplace(own.head);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EngineRequest& one = requests[i];
    const core::Tokens prompt = one.request.prompt_tokens;
    const core::RequestId id = session.submit(std::move(one.request), one.adapter);
    own.choices[i].id = id;
    const SimTime arrival = session.last_stamp();
    const SimTime queued = frontend_.admit(arrival, prompt);
    one.request = {};
    one.request.prompt_tokens = prompt;
    inside_[id.value()] = {
        .ref = {.slot = slot, .choice = static_cast<std::uint32_t>(i), .serial = own.serial},
        .stamped = queued - std::min(path_.handoff, queued - arrival),
        .last = SimTime::never(),
        .visible = one.visible_tokens,
        .given = 0,
        .facts = std::move(one)};
  }
}

void Generations::on_tokens(SimTime end, std::span<const domain::TokenEvent> events) {
  std::vector<Due> list;
  if (!spare_.empty()) {
    list = std::move(spare_.back());
    spare_.pop_back();
  }
  const core::Duration way = settings_.has_full_path ? path_.emit + path_.deliver : path_.emit;
  const SimTime due = end + way;
  const auto insert = [this](SimTime at, std::vector<Due> tokens) {
    // Instances of a fleet do not report in the order of time, but for one from the other.
    auto place = due_steps_.end();
    while (place != due_steps_.begin() && (place - 1)->at > at) {
      --place;
    }
    due_steps_.insert(place, {.at = at, .tokens = std::move(tokens)});
  };
  for (const domain::TokenEvent& event : events) {
    const auto found = inside_.find(event.request.value());
    if (found == inside_.end()) {
      continue;
    }
    Inside& inside = found->second;
    if (inside.last == SimTime::never()) {
      metrics_.on_first_token((end + path_.emit - inside.stamped).to_seconds(),
                              inside.facts.request.prompt_tokens.value());
    } else {
      metrics_.on_token_gap((end - inside.last).to_seconds());
    }
    inside.last = end;
    const std::int64_t tokens = std::min(event.tokens.value(), inside.visible);
    inside.visible -= tokens;
    inside.given += tokens;
    metrics_.on_tokens(tokens);
    if (tokens == 0) {
      continue;
    }
    const Generation* const generation = find(inside.ref);
    if (generation != nullptr && generation->fault &&
        generation->fault->kind == Fault::Kind::kStall) [[unlikely]] {
      insert(due + generation->fault->stall, {{.ref = inside.ref, .tokens = tokens}});
    } else {
      list.push_back({.ref = inside.ref, .tokens = tokens});
    }
  }
  if (list.empty()) {
    spare_.push_back(std::move(list));
  } else {
    insert(due, std::move(list));
  }
}

void Generations::on_end(const domain::RequestRecord& record) {
  const auto found = inside_.find(record.id.value());
  if (found == inside_.end()) {
    return;
  }
  const Inside inside = std::move(found->second);
  inside_.erase(found);
  using domain::Outcome;
  const bool is_good =
      record.outcome == Outcome::kFinished || record.outcome == Outcome::kLengthCapped;
  const Finished how = is_good                               ? inside.facts.how
                       : record.outcome == Outcome::kAborted ? Finished::kAbort
                                                             : Finished::kError;
  std::optional<RequestTimes> times;
  if (record.first_token != SimTime::never()) {
    times = {.e2e = (record.last_token + path_.emit - inside.stamped).to_seconds(),
             .queue = (record.first_scheduled - record.queued).to_seconds(),
             .prefill = (record.first_token - record.first_scheduled).to_seconds(),
             .decode = (record.last_token - record.first_token).to_seconds(),
             .inference = (record.last_token - record.first_scheduled).to_seconds()};
  }
  metrics_.on_end(how,
                  times ? &*times : nullptr,
                  record.prompt_tokens.value(),
                  inside.given,
                  record.cached_tokens.value(),
                  inside.facts.asked_tokens,
                  inside.facts.n);
  Generation* const generation = find(inside.ref);
  if (generation == nullptr) {
    return;
  }
  ChoiceState& choice = generation->choices[inside.ref.choice];
  choice.has_ended = true;
  generation->cached_tokens += record.cached_tokens.value();
  if (!is_good) {
    if (how == Finished::kError) {
      failures_.push_back({.at = {}, .ref = inside.ref, .is_failure = true});
    }
    return;
  }
  choice.length -= inside.visible;  // Of an engine that stopped short: none but for its length.
  if (choice.released >= choice.length) {
    const SimTime last = record.last_token == SimTime::never() ? record.queued : record.last_token;
    note_if_whole(*generation, inside.ref.slot, last + path_.emit + path_.deliver);
  }
}

void Generations::on_steps(const domain::StepRecord& record) {
  metrics_.on_steps(record.num_decodes + record.prefill_tokens.value(), record.steps);
}

/// When all of an answer is due at `at`, its end is due a little later.
void Generations::note_if_whole(Generation& generation, std::uint32_t slot, SimTime at) {
  if (std::ranges::all_of(generation.choices, [](const ChoiceState& choice) {
        return choice.is_whole(choice.released);
      })) {
    const SimTime due = settings_.has_full_path ? at + path_.close : at;
    auto place = due_ends_.end();
    while (place != due_ends_.begin() && (place - 1)->at > due) {
      --place;
    }
    due_ends_.insert(place,
                     {.at = due, .ref = {.slot = slot, .choice = 0, .serial = generation.serial}});
  }
}

SimTime Generations::write_due() {
  for (; !failures_.empty(); failures_.pop_front()) {
    if (Generation* const generation = find(failures_.front().ref)) {
      fail(*generation, engine_error());
    }
  }
  for (;;) {
    const SimTime step = due_steps_.empty() ? SimTime::never() : due_steps_.front().at;
    const SimTime end_at = due_ends_.empty() ? SimTime::never() : due_ends_.front().at;
    const SimTime next = std::min(step, end_at);
    if (next == SimTime::never() || next > clock_.now()) {
      cancel_lost();
      return next;
    }
    if (step <= end_at) {
      DueStep due = std::move(due_steps_.front());
      due_steps_.pop_front();
      for (const Due& one : due.tokens) {
        Generation* const generation = find(one.ref);
        if (generation == nullptr || generation->connection->is_dead()) {
          continue;
        }
        ChoiceState& choice = generation->choices[one.ref.choice];
        choice.released += one.tokens;
        if (generation->is_streamed) {
          write(*generation, choice);
        }
        // The client may have lost its connection to a fault meanwhile.
        if (find(one.ref) != nullptr && choice.released >= choice.length) {
          note_if_whole(*generation, one.ref.slot, due.at);
        }
      }
      const std::chrono::duration<double> late = live::wall_now() - clock_.due(due.at);
      metrics_.on_emission(late.count());
      due.tokens.clear();
      spare_.push_back(std::move(due.tokens));
    } else {
      const Ref ref = due_ends_.front().ref;
      due_ends_.pop_front();
      Generation* const generation = find(ref);
      if (generation != nullptr && !generation->connection->is_dead()) {
        generation->is_due = true;
        finish(*generation);
      }
    }
  }
}

void Generations::begin_stream(Generation& generation) {
  if (!generation.has_begun) {
    generation.has_begun = true;
    generation.connection->begin_stream(kEventStream, generation.headers);
    touch_(*generation.connection);
  }
}

/// Writes what is released of a choice, as far as the connection takes it.
void Generations::write(Generation& generation, ChoiceState& choice) {
  const std::int64_t pending = choice.released - choice.sent;
  const bool is_first = choice.sent == 0;
  const bool is_last = choice.released >= choice.length;
  if (pending == 0 || (!is_first && !is_last && pending < generation.interval)) {
    return;
  }
  begin_stream(generation);
  net::Connection& connection = *generation.connection;
  if (!connection.can_send()) {
    return;
  }
  if (generation.head.is_chat && !choice.has_role) {
    choice.has_role = true;
    scratch_.clear();
    const openai::Usage usage = usage_of(generation, choice);
    generation.events->add_role(&choice - generation.choices.data(),
                                generation.shows_usage_always ? &usage : nullptr,
                                scratch_);
    connection.send(scratch_);
  }
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

void Generations::write_events(Generation& generation, ChoiceState& choice, std::int64_t upto) {
  net::Connection& connection = *generation.connection;
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
    const std::string logprobs = generation.logprobs
                                     ? openai::logprobs_json(choice.text,
                                                             choice.sent,
                                                             end,
                                                             *generation.logprobs,
                                                             generation.head.is_chat,
                                                             choice.characters)
                                     : "null";
    const std::string ids = generation.returns_token_ids
                                ? openai::token_ids_json(choice.text, choice.sent, end)
                                : "null";
    choice.characters += std::ssize(text_) - static_cast<std::int64_t>(own);
    choice.sent = end;
    const openai::Usage usage = usage_of(generation, choice);
    scratch_.clear();
    generation.events->add_tokens({.index = &choice - generation.choices.data(),
                                   .text = text_,
                                   .kind = kind,
                                   .logprobs = logprobs,
                                   .token_ids = ids,
                                   .finish = &finish,
                                   .usage = generation.shows_usage_always ? &usage : nullptr},
                                  scratch_);
    connection.send(scratch_);
  }
}

void Generations::resume(net::Connection& connection) {
  Generation* const generation = of(connection);
  if (generation == nullptr || !generation->is_streamed) {
    return;
  }
  for (ChoiceState& choice : generation->choices) {
    if (choice.released - choice.sent > generation->interval) {
      metrics_.on_merged_event();
    }
    write(*generation, choice);
  }
  if (generation->is_due) {
    finish(*generation);
  }
  cancel_lost();
}

void Generations::cancel_lost() {
  for (net::Connection* const connection : std::exchange(lost_, {})) {
    cancel(*session_, *connection);
  }
}

/// The end is due: writes it, if all before it is written.
void Generations::finish(Generation& generation) {
  net::Connection& connection = *generation.connection;
  touch_(connection);
  if (!generation.is_streamed) {
    end(generation);
    return;
  }
  begin_stream(generation);
  for (ChoiceState& choice : generation.choices) {
    write(generation, choice);
    if (choice.length == 0 && choice.sent == 0 && connection.can_send() && !choice.prefix.empty()) {
      // Of a prompt that comes back alone.
      const std::optional<openai::Finish> finish = choice.finish;
      scratch_.clear();
      generation.events->add_tokens(
          {.index = &choice - generation.choices.data(), .text = choice.prefix, .finish = &finish},
          scratch_);
      connection.send(scratch_);
      choice.prefix.clear();
    }
  }
  const bool is_written = std::ranges::all_of(
      generation.choices, [](const ChoiceState& choice) { return choice.sent >= choice.length; });
  if (!is_written || !connection.can_send()) {
    return;
  }
  if (generation.shows_usage) {
    scratch_.clear();
    generation.events->add_usage(usage_of(generation), scratch_);
    connection.send(scratch_);
  }
  connection.send(openai::StreamEvents::kDone);
  for (const ChoiceState& choice : generation.choices) {
    remember(choice);
  }
  release(generation);
  metrics_.on_response(200);
  connection.end_stream();
}

/// Answers at once, whole.
void Generations::end(Generation& generation) {
  net::Connection& connection = *generation.connection;
  std::vector<openai::Choice> choices;
  for (const ChoiceState& state : generation.choices) {
    openai::Choice choice;
    choice.finish = state.finish;
    std::string text = state.whole ? *state.whole : state.text.text(state.length);
    if (state.reasoning_tokens > 0) {
      choice.reasoning = state.text.text(state.reasoning_tokens);
      text.erase(0, choice.reasoning.size());
    }
    choice.text = state.prefix + text;
    if (generation.logprobs) {
      choice.logprobs = openai::logprobs_json(
          state.text, 0, state.length, *generation.logprobs, generation.head.is_chat, 0);
    }
    if (generation.returns_token_ids) {
      choice.token_ids = openai::token_ids_json(state.text, 0, state.length);
    }
    if (generation.is_tool_call) {
      choice.tool_name = generation.head.tool_name;
      choice.tool_id = generation.head.tool_id;
    }
    choices.push_back(std::move(choice));
    remember(state);
  }
  const openai::Usage usage = usage_of(generation);
  std::string transfer = "null";
  if (generation.has_remote_decode) {
    transfer = R"({"do_remote_prefill":true,"do_remote_decode":false,"remote_engine_id":)"
               R"("ridgeline","remote_block_ids":[],"remote_host":"127.0.0.1","remote_port":0})";
  }
  const std::string body =
      generation.head.is_chat
          ? openai::chat_answer(generation.head, choices, usage, transfer)
          : openai::completion_answer(generation.head, choices, usage, transfer);
  const net::HeaderList headers = std::move(generation.headers);
  release(generation);
  metrics_.on_response(200);
  connection.respond(200, net::kJsonType, body, headers);
}

void Generations::fail(Generation& generation, const openai::ApiError& error) {
  net::Connection& connection = *generation.connection;
  touch_(connection);
  const bool has_begun = generation.has_begun;
  const openai::ApiVersion version = generation.head.version;
  release(generation);
  metrics_.on_response(has_begun ? 200 : error.status);
  if (!has_begun) {
    connection.respond(error.status, net::kJsonType, openai::error_body(error, version));
    return;
  }
  connection.send("data: " + openai::error_event(error, version) + "\n\n");
  connection.send(openai::StreamEvents::kDone);
  connection.end_stream();
}

void Generations::release(Generation& generation) {
  const auto slot = static_cast<std::uint32_t>(generation.connection->context - 1);
  generation.connection->context = 0;
  generation = Generation();
  free_slots_.push_back(slot);
  --num_open_;
}

void Generations::cancel(live::Session& session, net::Connection& connection) {
  Generation* const generation = of(connection);
  if (generation == nullptr) {
    return;
  }
  std::vector<core::RequestId> open;
  for (const ChoiceState& choice : generation->choices) {
    if (!choice.has_ended) {
      open.push_back(choice.id);
    }
  }
  release(*generation);
  for (const core::RequestId id : open) {
    session.abort(id);
  }
}

void Generations::cut_all(live::Session& session, const openai::ApiError& error) {
  for (const auto& slot : slots_) {
    if (slot->serial == 0) {
      continue;
    }
    std::vector<core::RequestId> open;
    for (const ChoiceState& choice : slot->choices) {
      if (!choice.has_ended) {
        open.push_back(choice.id);
      }
    }
    fail(*slot, error);
    for (const core::RequestId id : open) {
      session.abort(id);
    }
  }
}

std::int64_t Generations::num_running_of(std::string_view adapter) const {
  return std::ranges::count_if(
      inside_, [&](const auto& entry) { return entry.second.facts.adapter == adapter; });
}

/// Later prompts may go on from this answer.
void Generations::remember(const ChoiceState& choice) {
  if (choice.length > 0) {
    known_.remember(choice.whole ? *choice.whole : choice.text.text(choice.length),
                    {.request = choice.id, .tokens = core::Tokens(choice.length)});
  }
}

openai::Usage Generations::usage_of(const Generation& generation) const {
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

openai::Usage Generations::usage_of(const Generation& generation, const ChoiceState& choice) const {
  return {.prompt_tokens = generation.prompt_tokens[choice.prompt],
          .completion_tokens = choice.sent,
          .cached_tokens = std::nullopt};
}

}  // namespace ridgeline::serve

#include "serve/generations.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
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
#include "openai/answer_text.hpp"
#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/response_form.hpp"
#include "openai/stream_events.hpp"
#include "serve/generation.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"
#include "sim/live/clock.hpp"
#include "sim/live/session.hpp"

namespace ridgeline::serve {
namespace {

using core::SimTime;

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
      writer_(settings, touch_),
      responses_(settings.keeps_responses),
      frontend_(path) {}

Generation& Generations::take_slot(net::Connection* connection, Generation generation) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::make_unique<Generation>());
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  generation.serial = ++serials_;
  generation.slot = slot;
  generation.connection = connection;
  if (connection != nullptr) {
    connection->context = slot + 1;
  }
  ++num_open_;
  Generation& own = *slots_[slot];
  own = std::move(generation);
  own.form = openai::make_answer_form(own.head);
  return own;
}

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
                        net::Connection* connection,
                        SimTime came,
                        Generation generation,
                        std::vector<EngineRequest> requests) {
  session_ = &session;
  Generation& own = take_slot(connection, std::move(generation));
  const std::uint32_t slot = own.slot;
  if (connection == nullptr) {
    keep_without_answer(own, "queued");
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EngineRequest& one = requests[i];
    const core::Tokens prompt = one.request.prompt_tokens;
    const core::LoraId lora = one.request.lora;
    const core::RequestId id = session.submit(std::move(one.request), came, one.adapter);
    if (kv_events_ != nullptr) {
      kv_events_->begin(id,
                        {.prompt = std::move(one.token_ids),
                         .answer = own.choices[i].text,
                         .adapter = one.adapter,
                         .lora = lora});
    }
    own.choices[i].id = id;
    const SimTime arrival = session.last_stamp();
    const SimTime queued = frontend_.admit(arrival, prompt);
    one.request = {};
    one.request.prompt_tokens = prompt;
    inside_.insert(
        id.value(),
        {.ref = {.slot = slot, .choice = static_cast<std::uint32_t>(i), .serial = own.serial},
         .stamped = queued - std::min(path_.handoff, queued - arrival),
         .last = SimTime::never(),
         .visible = one.visible_tokens,
         .given = 0,
         .facts = std::move(one)});
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
    Inside* const found = inside_.find(event.request.value());
    if (found == nullptr) {
      continue;
    }
    Inside& inside = *found;
    if (inside.last == SimTime::never()) {
      metrics_.engine(inside.instance)
          .on_first_token((end + path_.emit - inside.stamped).to_seconds(),
                          inside.facts.request.prompt_tokens.value());
    } else {
      metrics_.engine(inside.instance).on_token_gap((end - inside.last).to_seconds());
    }
    inside.last = end;
    const std::int64_t tokens = std::min(event.tokens.value(), inside.visible);
    inside.visible -= tokens;
    inside.given += tokens;
    metrics_.engine(inside.instance).on_tokens(tokens);
    if (tokens == 0) {
      continue;
    }
    const Generation* const generation = find(inside.ref);
    if (generation != nullptr && generation->fault &&
        generation->fault->kind == Fault::Kind::kStall) [[unlikely]] {
      insert(due + generation->fault->lasts, {{.ref = inside.ref, .tokens = tokens}});
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
  if (kv_events_ != nullptr) {
    kv_events_->end(record.id);
  }
  if (inside_.find(record.id.value()) == nullptr) {
    return;
  }
  const Inside inside = inside_.take(record.id.value());
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
  metrics_.engine(inside.instance)
      .on_end(how,
              times ? &*times : nullptr,
              record.prompt_tokens.value(),
              inside.given,
              record.cached_tokens.value(),
              inside.facts.asked_tokens,
              inside.facts.n,
              record.preemptions);
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
  // An engine that stopped short gave fewer tokens than were asked.
  choice.length -= inside.visible;
  if (choice.released >= choice.length) {
    const SimTime last = record.last_token == SimTime::never() ? record.queued : record.last_token;
    note_if_whole(*generation, inside.ref.slot, last + path_.emit + path_.deliver);
  }
}

void Generations::on_steps(const domain::StepRecord& record) {
  metrics_.engine(record.instance)
      .on_steps(record.num_decodes + record.prefill_tokens.value(), record.steps);
  metrics_.on_steps(record.steps, record.period.to_seconds() / clock_.speed());
}

void Generations::on_place(core::RequestId request, core::InstanceId instance) {
  if (Inside* const found = inside_.find(request.value())) {
    found->instance = instance;
  }
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
        if (generation == nullptr) {
          continue;
        }
        ChoiceState& choice = generation->choices[one.ref.choice];
        choice.released += one.tokens;
        if ((generation->is_streamed && !choice.gives_event(generation->interval)) ||
            generation->is_lost()) {
          continue;
        }
        if (generation->is_streamed) {
          writer_.write(*generation, choice);
        } else if (generation->is_streamed_in_background) [[unlikely]] {
          pass_on(*generation);
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
      if (generation != nullptr && !generation->is_lost()) {
        generation->is_due = true;
        finish(*generation);
      }
    }
  }
}

void Generations::resume(net::Connection& connection) {
  Generation* const generation = of(connection);
  if (generation == nullptr || !generation->is_streamed) {
    return;
  }
  for (ChoiceState& choice : generation->choices) {
    if (choice.released - choice.sent > generation->interval && !generation->is_follower) {
      metrics_.on_merged_event();
    }
    writer_.write(*generation, choice);
  }
  if (generation->is_due) {
    finish(*generation);
  }
  cancel_lost();
}

void Generations::cancel_lost() {
  for (net::Connection* const connection : writer_.take_lost()) {
    cancel(*session_, *connection);
  }
}

/// The end is due: writes it, if all before it is written.
void Generations::finish(Generation& generation) {
  constexpr int kOk = 200;
  if (generation.connection == nullptr) {
    if (generation.is_streamed_in_background) {
      end_followers(generation);
    }
    responses_.keep(generation.head.id, writer_.kept(generation));
    release(generation);
    return;
  }
  net::Connection& connection = *generation.connection;
  touch_(connection);
  if (generation.is_streamed) {
    if (writer_.write_end(generation)) {
      if (generation.kept_messages) {
        responses_.keep(generation.head.id, writer_.kept(generation));
      }
      release(generation);
      metrics_.on_response(kOk);
      connection.end_stream();
    }
    return;
  }
  std::string body;
  try {
    body = writer_.whole(generation);
    if (generation.kept_messages) {
      responses_.keep(generation.head.id, writer_.kept(generation));
    }
  } catch (const std::bad_alloc&) {
    body = {};
    fail(generation, openai::out_of_memory());
    return;
  }
  const net::HeaderList headers = std::move(generation.headers);
  release(generation);
  metrics_.on_response(kOk);
  connection.respond(kOk, net::kJsonType, body, headers);
}

void Generations::fail(Generation& generation, const openai::ApiError& error) {
  constexpr int kOk = 200;
  if (generation.connection == nullptr) {
    for (const Ref& ref : followers_of(generation)) {
      fail(*find(ref), error);
    }
    keep_without_answer(generation, "failed");
    release(generation);
    return;
  }
  net::Connection& connection = *generation.connection;
  touch_(connection);
  if (generation.has_begun) {
    writer_.write_failure(generation, error);
    release(generation);
    metrics_.on_response(kOk);
    connection.end_stream();
    return;
  }
  const std::string body = generation.form->error(error);
  release(generation);
  metrics_.on_response(error.status);
  connection.respond(error.status, net::kJsonType, body);
}

void Generations::release(Generation& generation) {
  if (generation.connection != nullptr) {
    generation.connection->context = 0;
  }
  free_slots_.push_back(generation.slot);
  generation = Generation();
  --num_open_;
}

void Generations::cancel(live::Session& session, net::Connection& connection) {
  Generation* const generation = of(connection);
  if (generation == nullptr) {
    return;
  }
  const std::vector<core::RequestId> open = open_requests(*generation);
  release(*generation);
  for (const core::RequestId id : open) {
    session.abort(id);
  }
}

std::optional<std::string> Generations::cancel_response(live::Session& session,
                                                        std::string_view id) {
  Generation* const found = in_background(id);
  if (found == nullptr) {
    return std::nullopt;
  }
  Generation& generation = *found;
  cut_followers(generation);
  const std::vector<core::RequestId> open = open_requests(generation);
  std::string body = keep_without_answer(generation, "cancelled");
  release(generation);
  for (const core::RequestId request : open) {
    session.abort(request);
  }
  return body;
}

std::string Generations::keep_without_answer(const Generation& generation,
                                             std::string_view status) {
  std::string body = openai::ResponseForm(generation.head).without_answer(status);
  responses_.keep(generation.head.id, {.body = body, .messages = *generation.kept_messages});
  return body;
}

std::vector<core::RequestId> Generations::open_requests(const Generation& generation) {
  std::vector<core::RequestId> open;
  for (const ChoiceState& choice : generation.choices) {
    if (!choice.has_ended && !generation.is_follower) {
      open.push_back(choice.id);
    }
  }
  return open;
}

void Generations::cut_all(live::Session& session, const openai::ApiError& error) {
  // By index: the end of one answer may begin another.
  const std::size_t count = slots_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (slots_[i]->serial != 0) {
      const std::vector<core::RequestId> open = open_requests(*slots_[i]);
      fail(*slots_[i], error);
      for (const core::RequestId id : open) {
        session.abort(id);
      }
    }
  }
}

void Generations::abort_all(live::Session& session) {
  const std::size_t count = slots_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Generation& generation = *slots_[i];
    if (generation.serial == 0) {
      continue;
    }
    const std::vector<core::RequestId> open = open_requests(generation);
    for (ChoiceState& choice : generation.choices) {
      if (!choice.has_ended || choice.released < choice.length) {
        choice.length = choice.released;
        choice.has_ended = true;
        choice.finish = {.reason = "abort"};
        choice.whole.reset();
        choice.reasoning_tokens = std::min(choice.reasoning_tokens, choice.length);
      }
    }
    generation.is_due = true;
    finish(generation);
    for (const core::RequestId id : open) {
      session.abort(id);
    }
  }
}

std::int64_t Generations::num_running_of(std::string_view adapter) const {
  return std::ranges::count_if(
      inside_.entries(), [&](const auto& entry) { return entry.second.facts.adapter == adapter; });
}

}  // namespace ridgeline::serve

#include "engine/instance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "engine/leg.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "engine/server.hpp"
#include "engine/slowed_model.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {
namespace {

EngineInputs own_inputs(const EngineInputs& given,
                        const latency::StepTimeModel& model,
                        const HostTime& host,
                        domain::RecordSink& sink,
                        core::InstanceId id,
                        domain::FirstTokenSink* first_tokens,
                        KvEventSink* kv_events) {
  return {.options = given.options,
          .model = model,
          .host = host,
          .sink = sink,
          .instance = id,
          .horizon = given.horizon,
          .tokens = given.tokens,
          .first_tokens = first_tokens,
          .kv_history = given.kv_history,
          .loads = given.loads,
          .kv_events = kv_events};
}

}  // namespace

Instance::Instance(const InstanceInputs& inputs)
    : sink_(inputs.engine.sink),
      id_(inputs.id),
      horizon_(inputs.engine.horizon),
      frontend_(inputs.path),
      host_(inputs.warm_from.empty() ? inputs.engine.host : HostTime{}),
      first_tokens_(inputs.engine.first_tokens),
      pace_(inputs.pace),
      slowed_(inputs.may_slow_down || pace_ != Slowdown() || !inputs.warm_from.empty()
                  ? std::make_unique<SlowedModel>(inputs.engine.model)
                  : nullptr) {
  const bool is_warm = !inputs.warm_from.empty();
  const EngineInputs own =
      own_inputs(inputs.engine,
                 slowed_ ? *slowed_ : inputs.engine.model,
                 is_warm ? host_ : inputs.engine.host,
                 *this,
                 id_,
                 is_warm && first_tokens_ != nullptr ? static_cast<domain::FirstTokenSink*>(this)
                                                     : first_tokens_,
                 inputs.kv_events != nullptr ? &inputs.kv_events->of(id_) : nullptr);
  const bool steps_alone = inputs.core == EngineCore::kReference;
  if (inputs.in_lock_step) {
    auto rank = std::make_unique<StepLoop>(
        own, scheduler_of(own.options).make(own.options), inputs.jump && !steps_alone);
    rank_ = rank.get();
    engine_ = std::move(rank);
  } else {
    engine_ = steps_alone ? make_reference_engine(own) : make_fast_engine(own, inputs.jump);
  }
  if (slowed_) {
    slowed_->set_slowdown(pace_);
  }
  if (is_warm) {
    RIDGELINE_CHECK(rank_ == nullptr && own.tokens == nullptr && own.kv_events == nullptr,
                    "ranks in lock-step, and a run whose tokens are listed, start cold");
    warm(inputs.warm_from, inputs.engine.host);
  }
}

/// Runs requests through the engine one after the other, at time zero and in no time.
void Instance::warm(std::span<const domain::Request> requests, const HostTime& host) {
  constexpr core::SimTime kStart;
  is_warming_ = true;
  slowed_->set_slowdown({.thousandths = 0});
  for (domain::Request request : requests) {
    request.arrival = kStart;
    engine_->submit(request, kStart);
    const Pause pause = engine_->advance(
        kStart + core::Duration::ticks(1), false, std::numeric_limits<std::int64_t>::max());
    RIDGELINE_CHECK(pause == Pause::kIdle, "a request from before the run has ended");
  }
  slowed_->set_slowdown(pace_);
  host_ = host;
  engine_->forget_step_times();
  before_ = engine_->totals();
  num_ended_ = 0;
  is_warming_ = false;
}

EngineTotals Instance::totals() const {
  EngineTotals totals = engine_->totals();
  totals.steps -= before_.steps;
  totals.preemptions -= before_.preemptions;
  totals.prefix_queries -= before_.prefix_queries;
  totals.prefix_hits -= before_.prefix_hits;
  totals.jumped_steps -= before_.jumped_steps;
  return totals;
}

void Instance::on_steps(const domain::StepRecord& record) {
  if (is_warming_) {
    return;
  }
  if (before_.steps == 0 && id_ == record.instance) [[likely]] {
    sink_.on_steps(record);
  } else {
    domain::StepRecord own = record;
    own.first_step -= before_.steps;
    own.instance = id_;
    sink_.on_steps(own);
  }
}

void Instance::submit_leg(const domain::Request& request, const Leg& leg) {
  RIDGELINE_CHECK(in_frontend_.empty() || in_frontend_.back().request.arrival <= request.arrival,
                  "requests are submitted in order of arrival");
  auto& [kept, done, kept_leg] = in_frontend_.extend();
  kept = request;
  kept_leg = leg;
  done = frontend_.admit(request.arrival, request.prompt_tokens);
  if (done > horizon_) [[unlikely]] {
    done = core::SimTime::never();
  }
}

Pause Instance::advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) {
  RIDGELINE_CHECK(rank_ == nullptr, "a rank in lock-step is advanced with its group");
  if (hangs()) [[unlikely]] {
    return Pause::kLimit;
  }
  while (true) {
    const core::SimTime handover = next_handover();
    const Pause pause =
        engine_->advance(std::min(limit, handover), pause_at_completion, max_segments);
    if (pause != Pause::kLimit && pause != Pause::kIdle) {
      return pause;
    }
    if (handover >= limit) {
      if (pause == Pause::kLimit || in_frontend_.empty()) {
        return pause;
      }
      // The engine is idle, and the frontend is not: a request it will never get out in time.
      return limit == core::SimTime::never() ? Pause::kHorizon : Pause::kLimit;
    }
    const std::int64_t ended = num_ended_;
    hand_over();
    if (pause_at_completion && num_ended_ > ended) {
      return Pause::kCompletion;  // Refused.
    }
  }
}

/// The requests that the frontend is done with next reach the engine's queue.
void Instance::hand_over() {
  reached_ = next_handover();
  while (next_handover() == reached_) {
    const InFrontend& next = in_frontend_.front();
    engine_->submit_leg(next.request, reached_, next.leg);
    in_frontend_.pop_front();
  }
  if (in_frontend_.empty()) {
    in_frontend_.clear();  // The next one stands where the last one stood, in the same memory.
  }
}

InstanceState Instance::state(core::SimTime at) const {
  InstanceState state = engine_->state(hangs() ? hangs_since_ : at);
  state.at = at;
  return state;
}

core::SimTime Instance::next_instant() const {
  if (hangs()) {
    return core::SimTime::never();
  }
  return std::min(engine_->next_instant(), next_handover());
}

core::SimTime Instance::next_visible() const {
  if (hangs()) {
    return core::SimTime::never();
  }
  if (in_frontend_.empty()) {
    return engine_->next_visible();
  }
  const InFrontend& first = in_frontend_.front();
  const core::SimTime second =
      in_frontend_.size() > 1 ? in_frontend_[1].done : core::SimTime::never();
  if (first.leg != Leg()) {  // A load may start as soon as the request is there.
    return std::min(engine_->next_visible(), first.done);
  }
  return std::min(engine_->next_visible_with(first.request, first.done), second);
}

/// Where it hangs, no step has ended by `at`.
void Instance::hang_until(core::SimTime at) {
  if (hangs()) [[unlikely]] {
    engine_->stall(hangs_since_, at);
    hangs_since_ = at;
  }
}

void Instance::finish_load(LoadId id, core::SimTime at, bool arrived) {
  hang_until(at);
  engine_->finish_load(id, at, arrived);
}

void Instance::release_blocks(core::RequestId id, core::SimTime at) {
  hang_until(at);
  engine_->release_blocks(id, at);
}

void Instance::abort(core::RequestId id, core::SimTime at) {
  hang_until(at);
  for (std::size_t i = 0; i < in_frontend_.size(); ++i) {
    if (in_frontend_[i].request.id == id) {
      const InFrontend gone = in_frontend_[i];
      in_frontend_.erase_at(i);
      report_unserved(gone, domain::Outcome::kAborted, at);
      return;
    }
  }
  engine_->abort(id, at);
}

void Instance::drop_all(core::SimTime last) {
  engine_->drop_all();
  for (; !in_frontend_.empty(); in_frontend_.pop_front()) {
    if (in_frontend_.front().request.arrival <= last) {
      report_unserved(
          in_frontend_.front(), domain::Outcome::kUnfinished, in_frontend_.front().done);
    }
  }
}

void Instance::fail(core::SimTime at) {
  engine_->fail_all(at);
  for (; !in_frontend_.empty(); in_frontend_.pop_front()) {
    report_unserved(in_frontend_.front(), domain::Outcome::kFailed, at, at);
  }
  hangs_since_ = core::SimTime::never();
}

void Instance::hang(core::SimTime at) {
  RIDGELINE_CHECK(!hangs(), "an instance that hangs does not hang again");
  hangs_since_ = at;
}

void Instance::go_on(core::SimTime at) {
  RIDGELINE_CHECK(hangs() && at >= hangs_since_, "an instance goes on after it hung");
  engine_->stall(hangs_since_, at);
  hangs_since_ = core::SimTime::never();
  for (std::size_t i = 0; i < in_frontend_.size(); ++i) {
    in_frontend_[i].done = std::max(in_frontend_[i].done, at);
  }
}

void Instance::set_slowdown(Slowdown slowdown) {
  RIDGELINE_CHECK(slowed_ != nullptr, "an instance slows down only where its inputs say so");
  slowed_->set_slowdown({.thousandths = std::max<std::int64_t>(
                             pace_.thousandths * slowdown.thousandths / Slowdown::kWhole, 1)});
  engine_->forget_step_times();
}

/// Reports a request that never reached the engine.
void Instance::report_unserved(const InFrontend& entry,
                               domain::Outcome outcome,
                               core::SimTime at,
                               core::SimTime failed) {
  domain::RequestRecord record;
  record.id = entry.request.id;
  record.label_set = entry.request.label_set;
  record.outcome = outcome;
  record.prompt_tokens = entry.request.prompt_tokens;
  record.arrival = entry.request.arrival;
  record.queued = at;
  record.failed = failed;
  on_request(record);
}

void Instance::on_request(const domain::RequestRecord& record) {
  if (is_warming_) [[unlikely]] {
    return;
  }
  ++num_ended_;
  if (record.instance == id_) [[likely]] {
    sink_.on_request(record);
    return;
  }
  domain::RequestRecord own = record;
  own.instance = id_;
  sink_.on_request(own);
}

}  // namespace ridgeline::engine

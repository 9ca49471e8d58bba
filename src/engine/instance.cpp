#include "engine/instance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/leg.hpp"
#include "engine/server.hpp"

namespace ridgeline::engine {
namespace {

std::unique_ptr<Engine> make_engine(const InstanceInputs& inputs,
                                    const latency::StepTimeModel& model,
                                    domain::RecordSink& sink) {
  const EngineInputs own = {.options = inputs.engine.options,
                            .model = model,
                            .host = inputs.engine.host,
                            .sink = sink,
                            .horizon = inputs.engine.horizon,
                            .tokens = inputs.engine.tokens,
                            .first_tokens = inputs.engine.first_tokens,
                            .kv_history = inputs.engine.kv_history,
                            .loads = inputs.engine.loads};
  return inputs.core == EngineCore::kReference ? make_reference_engine(own)
                                               : make_fast_engine(own, inputs.jump);
}

}  // namespace

Instance::Instance(const InstanceInputs& inputs)
    : sink_(inputs.engine.sink),
      id_(inputs.id),
      horizon_(inputs.engine.horizon),
      frontend_(inputs.path),
      slowed_(inputs.may_slow_down ? std::make_unique<SlowedModel>(inputs.engine.model) : nullptr),
      engine_(make_engine(inputs, slowed_ ? *slowed_ : inputs.engine.model, *this)) {}

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
    reached_ = handover;
    const std::int64_t ended = num_ended_;
    while (next_handover() == handover) {
      const InFrontend& next = in_frontend_.front();
      engine_->submit_leg(next.request, handover, next.leg);
      in_frontend_.pop_front();
    }
    if (pause_at_completion && num_ended_ > ended) {
      return Pause::kCompletion;  // Refused.
    }
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
  return std::min(engine_->next_visible_with(first.request, first.done), second);
}

void Instance::abort(core::RequestId id, core::SimTime at) {
  if (hangs()) [[unlikely]] {
    engine_->stall(hangs_since_, at);
    hangs_since_ = at;
  }
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

void Instance::drop_all() {
  const core::SimTime at = now();
  engine_->drop_all();
  for (; !in_frontend_.empty(); in_frontend_.pop_front()) {
    if (in_frontend_.front().request.arrival <= at) {
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
  slowed_->set_slowdown(slowdown);
  engine_->forget_step_times();
}

/// Of a request that never reached the engine.
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
  ++num_ended_;
  domain::RequestRecord own = record;
  own.instance = id_;
  sink_.on_request(own);
}

}  // namespace ridgeline::engine

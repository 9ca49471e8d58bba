#include "engine/loop/lock_step.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"

namespace ridgeline::engine {
namespace {

bool is_unfinished(const StepScheduler& scheduler) {
  const SchedulerCounts counts = scheduler.counts();
  return counts.running + counts.waiting > 0;
}

}  // namespace

LockStep::LockStep(std::vector<StepLoop*> ranks,
                   std::int64_t agreed_every,
                   std::unique_ptr<RankAgreement> agreement)
    : ranks_(std::move(ranks)),
      agreed_every_(agreed_every),
      agreement_(std::move(agreement)),
      depth_(ranks_.front()->depth_),
      steps_(ranks_.size()),
      parts_(ranks_.size()) {
  RIDGELINE_CHECK(ranks_.front()->inputs_.options.pipeline_depth == 0,
                  "the stages of a pipeline are not in lock-step");
  for (const StepLoop* const rank : ranks_) {
    schedulers_.push_back(rank->scheduler_.get());
    rank->scheduler_->decodes().gather(false);  // Steps without a request are dummies here.
  }
}

/// When a step may be formed; nothing where none may before the oldest in flight ends.
std::optional<core::SimTime> LockStep::due() const {
  std::optional<core::SimTime> due;
  for (const StepLoop* const rank : ranks_) {
    if (rank->schedule_due_) {
      due = std::max(due.value_or(rank->forms_at()), rank->forms_at());
    }
  }
  return due;
}

bool LockStep::has_unfinished() const {
  return std::ranges::any_of(ranks_,
                             [](const StepLoop* rank) { return is_unfinished(*rank->scheduler_); });
}

/// Whether a rank has requests that wait for nothing, not even for KV of another engine.
bool LockStep::stands_still() const {
  return std::ranges::any_of(ranks_, [](const StepLoop* rank) {
    return is_unfinished(*rank->scheduler_) && !rank->scheduler_->waits_for_others();
  });
}

/// As StepLoop::next_grammar(), of all ranks.
core::SimTime LockStep::next_grammar() const {
  core::SimTime next = core::SimTime::never();
  for (const StepLoop* const rank : ranks_) {
    next = std::min(next, rank->next_grammar());
  }
  return next;
}

Pause LockStep::advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) {
  for (std::int64_t segments = 0;; ++segments) {
    if (const auto now = due()) {
      if (*now >= limit) {
        return Pause::kLimit;
      }
      past_horizon_ = !fill_pipeline(*now);
    }
    if (past_horizon_) {
      return Pause::kHorizon;
    }
    StepLoop& first = *ranks_.front();
    if (const core::SimTime ready = next_grammar();
        first.num_in_flight_ == 0 && ready != core::SimTime::never()) {
      if (ready >= limit) {
        return Pause::kLimit;
      }
      if (ready > first.inputs_.horizon) {
        return Pause::kHorizon;
      }
      first.wake(ready);
      continue;
    }
    if (first.num_in_flight_ == 0) {
      RIDGELINE_CHECK(!stands_still(), "requests wait although nothing runs");
      return Pause::kIdle;
    }
    if (first.in_flight(0).end >= limit) {
      return Pause::kLimit;
    }
    if (segments >= max_segments) {
      return Pause::kBudget;
    }
    if (first.jump_ && jump(limit)) {
      continue;
    }
    if (complete_oldest() && pause_at_completion) {
      return Pause::kCompletion;
    }
  }
}

/// Forms steps until as many are in flight as can be; false if one of them would end after the
/// horizon.
bool LockStep::fill_pipeline(core::SimTime now) {
  for (StepLoop* const rank : ranks_) {
    rank->hold_blocks_until(now, rank->scheduler_->used_blocks());
    rank->schedule_due_ = false;
  }
  while (ranks_.front()->num_in_flight_ < depth_ && form_parts()) {
    if (!launch()) {
      return false;
    }
  }
  return true;
}

/// Forms the steps that the engine's agreement runs.
bool LockStep::form_agreed_parts() {
  const bool runs = agreement_->agree(schedulers_, ranks_.front()->num_in_flight_ > 0);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    StepLoop& rank = *ranks_[i];
    parts_[i].has_requests = rank.form(rank.in_flight(rank.num_in_flight_));
    RIDGELINE_CHECK(runs || !parts_[i].has_requests, "a rank runs although the group does not");
  }
  return runs;
}

/// Asks every scheduler for the next step; false where the group runs none.
bool LockStep::form_parts() {
  if (agreement_ != nullptr) {
    return form_agreed_parts();
  }
  if (runs_ && since_start_ > 0 && since_start_ % agreed_every_ == 0 && !has_unfinished()) {
    runs_ = false;
    since_start_ = 0;
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    StepLoop& rank = *ranks_[i];
    parts_[i].has_requests = rank.form(rank.in_flight(rank.num_in_flight_));
  }
  const bool any = std::ranges::any_of(parts_, &Part::has_requests);
  runs_ = runs_ || any;
  return any || (runs_ && ranks_.size() > 1);
}

/// Puts the parts in flight, as long as the longest of them takes; false where the step would end
/// after the horizon.
bool LockStep::launch() {
  core::SimTime end;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    StepLoop& rank = *ranks_[i];
    Part& part = parts_[i];
    InFlight& next = rank.in_flight(rank.num_in_flight_);
    if (part.has_requests) {
      part.batch = rank.batch_of(next);
      part.priced = rank.price(part.batch,
                               static_cast<std::int64_t>(next.step.size()),
                               next.mask,
                               rank.now_,
                               rank.newest_end());
    } else {
      next.is_decodes = false;
      next.context = {};
      next.mask = {};
      part.batch = {};
      part.priced = price_dummy(rank);
    }
    end = std::max(end, part.priced.end);
  }
  if (end > ranks_.front()->inputs_.horizon) {
    return false;
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    StepLoop& rank = *ranks_[i];
    Part& part = parts_[i];
    const core::Duration wait = end - part.priced.end;
    part.priced.time.add(domain::Bottleneck::kOverhead, wait);
    part.priced.end = end;
    steps_[i].waited += wait;
    steps_[i].dummy_steps += part.has_requests ? 0 : 1;
    rank.put_in_flight(rank.in_flight(rank.num_in_flight_), part.batch, part.priced);
  }
  ++since_start_;
  return true;
}

/// A dummy batch has one token, and nothing before it.
StepLoop::Priced LockStep::price_dummy(StepLoop& rank) {
  const core::Tokens none;
  const domain::StepBatch batch{
      .num_decodes = 1, .decode_context = none, .decode_lengths = {&none, 1}, .prefills = {}};
  return rank.price(batch, 1, {}, rank.now_, rank.newest_end());
}

/// The oldest step ends on every rank; true where a request ended with it.
bool LockStep::complete_oldest() {
  bool has_finished = false;
  for (StepLoop* const rank : ranks_) {
    if (const InFlight& oldest = rank->in_flight(0); oldest.step.empty()) {
      rank->hold_blocks_until(oldest.end, rank->scheduler_->used_blocks());
      rank->retire_oldest();
    } else {
      has_finished = rank->complete_oldest() || has_finished;
    }
    rank->schedule_due_ = true;
  }
  const core::SimTime masks_until = std::ranges::max(ranks_, {}, [](const StepLoop* rank) {
                                      return rank->masks_until_;
                                    })->masks_until_;
  for (StepLoop* const rank : ranks_) {
    rank->masks_until_ = masks_until;  // They form the next step together.
  }
  return has_finished;
}

}  // namespace ridgeline::engine

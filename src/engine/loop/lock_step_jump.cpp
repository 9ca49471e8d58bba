// The jump of ranks in lock-step: rounds in which every rank repeats itself, and the same one takes
// longest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/loop/lock_step.hpp"
#include "engine/loop/pace.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {
namespace {

/// For how many steps `longest` takes as long as `other`, or longer. It does for the first.
std::int64_t steps_to_crossing(const Pace& longest, const Pace& other) {
  const core::Duration closer = other.growth - longest.growth;
  return closer <= core::Duration() ? std::numeric_limits<std::int64_t>::max()
                                    : (longest.period - other.period).count() / closer.count() + 1;
}

}  // namespace

/// Takes as many rounds at once as are quiet on every rank and end before `limit`; false where
/// there is none.
bool LockStep::jump(core::SimTime limit) {
  if (ranks_.front()->inputs_.options.num_speculative_tokens > 0 || !has_unfinished()) {
    return false;
  }
  std::vector<QuietPart> parts(ranks_.size());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!plan(*ranks_[i], parts[i])) {
      return false;
    }
  }
  const auto longest = std::ranges::max_element(parts, [](const QuietPart& a, const QuietPart& b) {
    return a.own.period != b.own.period ? a.own.period < b.own.period : a.own.growth < b.own.growth;
  });
  Pace pace = longest->own;
  for (const QuietPart& part : parts) {
    pace.batches =
        std::min({pace.batches, part.own.batches, steps_to_crossing(longest->own, part.own)});
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    parts[i].run.pace = pace;
    ranks_[i]->cut_at(limit, parts[i].run);
  }
  const std::int64_t rounds = parts.front().run.rounds;  // Equal in all: they end together.
  if (rounds == 0) {
    return false;
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    QuietPart& part = parts[i];
    steps_[i].waited += pace.length(rounds) - part.own.length(rounds);
    if (part.place) {
      ranks_[i]->count_on_line(*part.place, part.run);
      ranks_[i]->take_rounds(part.run);
    } else {
      steps_[i].dummy_steps += rounds;
      take_dummies(*ranks_[i], part);
    }
  }
  since_start_ += rounds;
  if (agreement_ != nullptr) {
    agreement_->advance_quiet(schedulers_, rounds);
  }
  return true;
}

/// How a rank goes on if it were alone; false where that is not known.
bool LockStep::plan(StepLoop& rank, QuietPart& part) const {
  if (rank.num_in_flight_ < depth_) {
    return false;
  }
  rank.start_run(part.run);
  if (is_idle(rank)) {
    const StepLoop::Priced dummy = price_dummy(rank);
    part.own = {.period = dummy.end - dummy.start,
                .growth = {},
                .batches = std::numeric_limits<std::int64_t>::max()};
    return true;
  }
  if (!rank.is_quiet(part.run) || part.run.mask > core::Duration()) {
    return false;  // With masks, step by step: ranks are not alike.
  }
  part.place = rank.on_line(part.run);
  if (part.place) {
    part.own = part.place->pace;
  }
  return part.place.has_value();
}

/// Whether a rank runs nothing but dummies, until a request comes.
bool LockStep::is_idle(StepLoop& rank) const {
  const SchedulerCounts counts = rank.scheduler_->counts();
  for (std::size_t place = 0; place < depth_; ++place) {
    if (!rank.in_flight(place).step.empty()) {
      return false;
    }
  }
  return counts.running + counts.waiting == 0;
}

/// The rounds of a rank that runs dummies.
void LockStep::take_dummies(StepLoop& rank, QuietPart& part) {
  const std::int64_t rounds = part.run.rounds;
  const StepLoop::Priced one = price_dummy(rank);
  domain::StepTime dummies;
  dummies.add(one.time, rounds);
  dummies.cpu = one.time.cpu * rounds;
  const core::Duration busy = part.run.pace->length(rounds);
  dummies.add(domain::Bottleneck::kOverhead, busy - dummies.gpu());
  rank.count(dummies, busy, rounds);
  rank.hold_blocks(part.run, rank.scheduler_->used_blocks(), {});
  rank.move_steps(part.run);
  rank.totals_.jumped_steps += rounds;
}

}  // namespace ridgeline::engine

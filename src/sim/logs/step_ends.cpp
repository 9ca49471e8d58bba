#include "sim/logs/step_ends.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"

namespace ridgeline::sim {

core::SimTime StepEnds::Run::end_of(std::int64_t step) const {
  return start + period * (step + 1) + growth * (step * (step + 1) / 2);
}

void StepEnds::add(const domain::StepRecord& record) {
  Run run{.start = record.start,
          .period = record.period,
          .growth = record.period_growth,
          .steps = record.steps,
          .latest = {}};
  run.latest = run.end_of(run.steps - 1);
  if (!runs_.empty()) {
    run.latest = std::max(run.latest, runs_.back().latest);
  }
  runs_.push_back(run);
}

std::vector<core::SimTime> StepEnds::between(core::SimTime after, core::SimTime until) const {
  std::vector<core::SimTime> ends;
  auto run =
      std::ranges::partition_point(runs_, [&](const Run& early) { return early.latest <= after; });
  for (; run != runs_.end() && run->start < until; ++run) {
    // Whole runs can lie before: the first step of interest is searched for, not walked to.
    std::int64_t step = 0;
    for (std::int64_t count = run->steps; count > 0;) {
      const std::int64_t half = count / 2;
      if (run->end_of(step + half) <= after) {
        step += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    for (; step < run->steps && run->end_of(step) <= until; ++step) {
      ends.push_back(run->end_of(step));
    }
  }
  std::ranges::sort(ends);
  return ends;
}

}  // namespace ridgeline::sim

#pragma once

#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"

namespace ridgeline::sim {

/// When the steps of a run ended: what the token times of single requests are made of. 40 bytes a
/// run of equal steps.
class StepEnds {
 public:
  void add(const domain::StepRecord& record);

  /// The ends of steps later than `after` and not later than `until`, ascending.
  [[nodiscard]] std::vector<core::SimTime> between(core::SimTime after, core::SimTime until) const;

 private:
  /// Step i (from 0) ends (i + 1) * period + i * (i + 1) / 2 * growth after the start.
  struct Run {
    core::SimTime start;
    core::Duration period;
    core::Duration growth;
    std::int64_t steps = 1;
    core::SimTime latest;  ///< End of the latest step of this run and all before it.

    [[nodiscard]] core::SimTime end_of(std::int64_t step) const;
  };
  std::vector<Run> runs_;
};

}  // namespace ridgeline::sim

#include "engine/pipeline.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "domain/step.hpp"

namespace ridgeline::engine {

core::SimTime Pipeline::pass(core::SimTime now, std::span<const core::Duration> times) {
  free_.resize(times.size(), now);
  core::SimTime reached = now;
  for (std::size_t stage = 0; stage < times.size(); ++stage) {
    reached = core::SimTime::saturating_sum(std::max(reached, free_[stage]), times[stage]);
    free_[stage] = reached;
  }
  return reached;
}

void Pipeline::stall(core::SimTime from, core::Duration delay) {
  for (core::SimTime& free : free_) {
    free = free > from ? core::SimTime::saturating_sum(free, delay) : free;
  }
}

domain::StepTime in_proportion(const domain::StepTime& time, core::Duration total) {
  const std::int64_t whole = time.gpu().count();
  RIDGELINE_CHECK(whole > 0, "no part of nothing");
  domain::StepTime result = time;
  std::int64_t before = 0;  // Ends of the parts are rounded, so that they sum to the total.
  std::int64_t placed = 0;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    before += time.by_bottleneck[kind].count();
    const auto end =
        static_cast<std::int64_t>(static_cast<core::Int128>(before) * total.count() / whole);
    result.by_bottleneck[kind] = core::Duration::ticks(end - placed);
    placed = end;
  }
  return result;
}

}  // namespace ridgeline::engine

#include "workload/closed_loop.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

ClosedLoopSource::ClosedLoopSource(const SyntheticOptions& options, const ClosedLoop& loop)
    : maker_(options),
      think_(loop.think),
      seed_(options.seed),
      replication_(options.replication),
      sends_(static_cast<std::size_t>(loop.max_concurrency)) {}

std::optional<core::SimTime> ClosedLoopSource::next_arrival() {
  if (sends_.empty() || !maker_.wants(sends_.front())) {
    return std::nullopt;
  }
  return sends_.front();
}

domain::Request ClosedLoopSource::pop() {
  RIDGELINE_CHECK(next_arrival().has_value(), "pop while every user waits or the stream has ended");
  std::pop_heap(sends_.begin(), sends_.end(), std::greater<>());
  const core::SimTime arrival = sends_.back();
  sends_.pop_back();
  ++in_flight_;
  return maker_.make(arrival);
}

void ClosedLoopSource::on_completion(core::RequestId id, core::SimTime time) {
  RIDGELINE_CHECK(in_flight_ > 0, "a completion without a request in flight");
  --in_flight_;
  const core::Duration think = think_time(id);
  const core::Duration room = kLatestArrival - time.since_start();
  if (think > room) {
    if (maker_.wants(core::SimTime::at(kLatestArrival))) {
      maker_.note_overrun("the range of simulated time");
    }
    return;
  }
  sends_.push_back(time + think);
  std::push_heap(sends_.begin(), sends_.end(), std::greater<>());
}

core::Duration ClosedLoopSource::think_time(core::RequestId id) const {
  if (think_.kind == ThinkTime::Kind::kConstant) {
    return think_.mean;
  }
  core::RngStream rng(seed_, replication_, "think", id.value());
  return core::Duration::saturating(
      core::Seconds(core::exponential(rng, think_.mean.to_seconds())));
}

}  // namespace ridgeline::workload

#include "cluster/scaling_part.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "scaling/scaler.hpp"

namespace ridgeline::cluster {

using core::SimTime;

ScalingPart::ScalingPart(Fleet& fleet, Operations& operations, ScalingInputs inputs)
    : fleet_(fleet),
      operations_(operations),
      inputs_(std::move(inputs)),
      places_(operations.places()[inputs_.places]),
      next_reading_(scaling::next_multiple(SimTime(), inputs_.metrics_interval)),
      next_decision_(inputs_.scaler->next_decision(SimTime())),
      busy_(fleet.num_instances()) {}

SimTime ScalingPart::next_instant() const {
  return std::min(next_reading_, next_decision_);
}

void ScalingPart::act(SimTime now) {
  if (next_reading_ <= now) {
    read(now);
    next_reading_ = scaling::next_multiple(now, inputs_.metrics_interval);
  }
  if (next_decision_ <= now) {
    decide(now);
    next_decision_ = inputs_.scaler->next_decision(now);
  }
}

void ScalingPart::read(SimTime now) {
  scaling::PoolReading reading{.at = now,
                               .held = operations_.num_held(),
                               .arrivals = operations_.num_arrivals() - arrivals_};
  arrivals_ = operations_.num_arrivals();
  for (std::size_t place = places_.first; place < places_.first + places_.count; ++place) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(place));
    if (operations_.state(id) != Lifecycle::kReady) {
      continue;
    }
    engine::Instance& instance = fleet_.instance(id, now);
    const engine::InstanceState state = instance.state(now);
    const auto used = static_cast<double>(state.used_blocks.value());
    const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
    const core::Duration busy = inputs_.reads_busy ? instance.totals().busy : core::Duration();
    // A restart begins to count anew; a step is counted when it begins.
    const double share = std::max(core::Duration(), busy - busy_[place]).to_seconds() /
                         inputs_.metrics_interval.to_seconds();
    busy_[place] = busy;
    reading.replicas.push_back({.id = id,
                                .waiting = state.waiting,
                                .running = state.running,
                                .kv_usage = all > 0.0 ? used / all : 0.0,
                                .busy = std::min(share, 1.0),
                                .queued_tokens = state.queued_prompt_tokens,
                                .kv_capacity = inputs_.kv_capacity,
                                .context = inputs_.context});
  }
  newest_.clear();
  newest_.push_back(std::move(reading));
}

void ScalingPart::decide(SimTime now) {
  const std::int64_t replicas = operations_.num_replicas(places_);
  const scaling::ScalePlan plan = inputs_.scaler->evaluate({.readings = newest_,
                                                            .replicas = replicas,
                                                            .ready = operations_.num_ready(places_),
                                                            .min_replicas = inputs_.min_replicas,
                                                            .max_replicas = inputs_.max_replicas},
                                                           now);
  std::int64_t wanted = std::clamp(plan.replicas, inputs_.min_replicas, inputs_.max_replicas);
  // One that drains still has its place.
  wanted = std::min(wanted, replicas + operations_.num_gone(places_));
  if (wanted == replicas) {
    return;
  }
  if (wanted > replicas) {
    operations_.start(wanted - replicas, now, places_);
  } else {
    operations_.retire(replicas - wanted, now, places_);
  }
  RIDGELINE_CHECK(operations_.num_replicas(places_) == wanted && wanted <= inputs_.max_replicas &&
                      wanted >= inputs_.min_replicas,
                  "scaling stays between its bounds");
  events_.push_back({.at = now, .from = replicas, .to = wanted, .reason = plan.reason});
}

}  // namespace ridgeline::cluster

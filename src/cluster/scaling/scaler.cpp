#include "cluster/scaling/scaler.hpp"

#include <algorithm>

#include "core/time.hpp"

namespace ridgeline::scaling {

bool PoolReading::is_active() const {
  return held > 0 || arrivals > 0 || std::ranges::any_of(replicas, [](const ReplicaReading& one) {
           return one.waiting + one.running > 0;
         });
}

core::SimTime next_multiple(core::SimTime now, core::Duration interval) {
  const core::Duration since = core::Duration::ticks(now.count() % interval.count());
  return core::SimTime::saturating_sum(now, interval - since);
}

core::SimTime last_multiple(core::SimTime now, core::Duration interval) {
  return core::SimTime::at(interval * ((now.count() - 1) / interval.count()));
}

}  // namespace ridgeline::scaling

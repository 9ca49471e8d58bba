#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/gateway.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"

/// Looks into prefix caches for requests that are known before they arrive.
namespace ridgeline::cluster {

using core::SimTime;

/// The instant as of which a gateway knows the caches at `now`.
SimTime Cluster::known_at(SimTime now) const {
  return now - std::min(gateway_.times().kv_events_delay, now - SimTime());
}

/// When the caches are what the gateway will know of them as the next request arrives.
SimTime Cluster::next_look() const {
  return looks_ahead_ && looks_.size() < arrivals_.size()
             ? known_at(arrivals_[looks_.size()].arrival)
             : SimTime::never();
}

/// Looks for the requests of which the gateway will know what is true at `now`.
void Cluster::look_ahead(SimTime now) {
  while (next_look() <= now) {
    const domain::Request& request = arrivals_[looks_.size()];
    std::vector<core::Tokens>& found = looks_.extend();
    found.clear();
    if (request.prompt.empty()) {
      continue;  // No other request has a part of it.
    }
    for (const auto& one : instances_) {
      found.push_back(may_hold(request, one->id()) ? instance(one->id(), now).cached_prefix(request)
                                                   : core::Tokens());
    }
  }
}

void Cluster::pop_arrival() {
  arrivals_.pop_front();
  if (!looks_.empty()) {
    looks_.pop_front();
  }
}

}  // namespace ridgeline::cluster

#include <algorithm>

#include "cluster/cluster.hpp"
#include "cluster/gateway.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

/// Readings of gauges: by the cluster's gateway, and by those of its parts.
namespace ridgeline::cluster {

using core::SimTime;

void Cluster::find_readers() {
  gateway_.read_gauges_from(*this, eager_);
  if (gateway_.needs().gauges) {
    readers_.push_back(&gateway_);
  }
  for (const auto& one : instances_) {
    Gateway& other = gateway_of(one->id());
    if (other.needs().gauges && std::ranges::find(readers_, &other) == readers_.end()) {
      other.read_gauges_from(*this, eager_);
      readers_.push_back(&other);
    }
  }
}

/// Readings before `until` are due. Only the reference takes them whether one is asked for or not.
void Cluster::pass_gauges(SimTime until) {
  for (Gateway* const reader : readers_) {
    reader->pass(until);
    if (eager_) {
      reader->read_all_gauges();
    }
  }
}

/// Those of an instance that is about to be advanced to `limit`, or changed.
void Cluster::read_gauges(core::InstanceId id, SimTime limit) {
  for (Gateway* const reader : readers_) {
    if (id.value() < reader->views().size()) {
      reader->read_gauges(id, limit);
    }
  }
}

void Cluster::note_gauges_change(core::InstanceId id) {
  for (Gateway* const reader : readers_) {
    if (id.value() < reader->views().size()) {
      reader->note_gauges_change(id);
    }
  }
}

SimTime Cluster::next_reading() const {
  SimTime next = SimTime::never();
  for (const Gateway* const reader : readers_) {
    next = std::min(next, reader->next_reading(true));
  }
  return next;
}

routing::Gauges Cluster::gauges(core::InstanceId id, SimTime at) {
  const engine::InstanceState state = advanced(id, at).state(at);
  const auto used = static_cast<double>(state.used_blocks.value());
  const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
  return {
      .waiting = state.waiting, .running = state.running, .kv_usage = all > 0.0 ? used / all : 0.0};
}

}  // namespace ridgeline::cluster

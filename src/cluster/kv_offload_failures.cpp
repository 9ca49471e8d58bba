// KV tiers of instances that stop, and of those that take their places.
#include <cstddef>
#include <utility>

#include "cluster/kv_offload.hpp"
#include "cluster/kv_offload_connector.hpp"
#include "cluster/part.hpp"
#include "cluster/store/eviction.hpp"
#include "cluster/store/tier.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "engine/instance.hpp"

namespace ridgeline::cluster {

using core::SimTime;

/// Until what it has computed is written.
bool KvOffload::is_kept(core::InstanceId id) const {
  return connectors_[id.value()]->is_storing();
}

/// Host memory and disk are the engine's: what is there goes with it. What the store that all share
/// has stays, but for blocks of which it got a part.
void KvOffload::on_stop(core::InstanceId id, SimTime now) {
  stop_moves(host_lines_, id, now);
  stop_moves(store_lines_, id, now);
  std::erase_if(due_, [&](const auto& entry) {
    const Move& move = entry.second.move;
    if (move.instance == id && entry.second.kind == Due::Kind::kLoad) {
      stop_load(move);
    }
    return move.instance == id;
  });
  std::erase_if(loads_, [id](const auto& entry) { return entry.first.first == id; });
  connectors_[id.value()]->forget_all();
  empty_tiers(id);
}

void KvOffload::on_renew(core::InstanceId id) {
  fleet_.instance(id, SimTime()).connect(*connectors_[id.value()]);
}

void KvOffload::stop_moves(Lines& lines, core::InstanceId id, SimTime now) {
  std::erase_if(lines.moves, [&](const auto& entry) {
    const auto& [transfer, move] = entry;
    if (move.instance != id) {
      return false;
    }
    lines.link.stop(transfer, now);
    move.kind == Move::Kind::kLoad ? stop_load(move) : stop_write(move);
    return true;
  });
}

void KvOffload::stop_load(const Move& move) {
  for (const store::BlockKey key : move.keys) {
    tier(move.tier, move.instance)->end_read(key);
  }
}

void KvOffload::stop_write(const Move& move) {
  for (const store::BlockKey key : move.keys) {
    tier(move.tier, move.instance)->abandon_write(key);
  }
}

void KvOffload::empty_tiers(core::InstanceId id) {
  for (const TierKind kind : {TierKind::kHost, TierKind::kDisk}) {
    auto& all = tiers_[static_cast<std::size_t>(kind)];
    if (!all.empty()) {
      before_[static_cast<std::size_t>(kind)][id.value()] += all[id.value()]->totals();
      all[id.value()] = new_tier(kind, id.value());
    }
  }
}

}  // namespace ridgeline::cluster

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cluster/kv_offload.hpp"
#include "cluster/store/eviction.hpp"
#include "cluster/store/tier.hpp"
#include "core/ids.hpp"
#include "core/key_map.hpp"
#include "core/time.hpp"
#include "engine/kv_connector.hpp"

namespace ridgeline::cluster {

/// What the engine of one instance asks.
class KvOffload::Connector final : public engine::KvConnector {
 public:
  Connector(KvOffload& all, core::InstanceId instance) : all_(all), instance_(instance) {}

  void set_now(core::SimTime now) override { now_ = now; }

  [[nodiscard]] std::int64_t find(core::RequestId /*request*/,
                                  Hashes hashes,
                                  std::int64_t local) override {
    const std::int64_t blocks = available(hashes, local);
    return blocks > 0 && all_.loads_sooner(instance_, hashes, local, blocks) ? blocks : 0;
  }

  std::uint64_t begin(core::RequestId request,
                      Hashes hashes,
                      std::int64_t local,
                      std::int64_t loaded) override {
    const core::Tokens tokens = layout().block_tokens;
    const std::int64_t chunk = layout().blocks_per_chunk;
    const std::int64_t chunks = std::ssize(hashes) / chunk;
    all_.totals_.queries += tokens * (std::ssize(hashes) - local);
    all_.totals_.hits += tokens * loaded;
    all_.totals_.recomputed += loaded == 0 && available(hashes, local) > 0 ? 1 : 0;
    if (all_.options_.rules.store_threshold.value_or(0) > 0) {
      for (std::int64_t i = local / chunk; i < chunks; ++i) {
        ++uses()[key(hashes, i)];
      }
    }
    Keys used;
    used.reserve(static_cast<std::size_t>(chunks));
    for (std::int64_t i = 0; i < chunks; ++i) {
      used.push_back(key(hashes, i));
    }
    plan(Due::Kind::kTouch,
         {.instance = instance_, .request = request, .keys = std::move(used)},
         {});
    return loaded > 0 ? load(request, hashes, local, loaded) : 0;
  }

  void store(core::RequestId request, Hashes hashes, std::int64_t before) override {
    const std::int64_t chunk = layout().blocks_per_chunk;
    Keys keys;
    for (std::int64_t i = before / chunk; i < std::ssize(hashes) / chunk; ++i) {
      keys.push_back(key(hashes, i));
    }
    if (!keys.empty()) {
      ++storing_[request].moves;
      plan(Due::Kind::kStore,
           {.kind = Move::Kind::kStore,
            .tier = all_.top(),
            .instance = instance_,
            .request = request,
            .keys = std::move(keys)},
           {});
    }
  }

  [[nodiscard]] bool stores_answers() const override { return all_.options_.stores_answers; }

  [[nodiscard]] bool hold(core::RequestId request) override {
    const auto storing = storing_.find(request);
    if (storing == storing_.end()) {
      return false;
    }
    ++storing->second.have_left;
    return true;
  }

  /// Whether as many requests wanted a block, beyond what their GPUs held, as it is stored for.
  [[nodiscard]] bool is_wanted(store::BlockKey block) {
    const std::int64_t needed = all_.options_.rules.store_threshold.value_or(0);
    const std::int64_t* const found = needed > 0 ? uses().find(block) : nullptr;
    return needed <= 0 || (found != nullptr && *found >= needed);
  }

  /// A transfer of a request to a tier is over. How many attempts at the request have left whose
  /// blocks, which stayed for that, are free now.
  [[nodiscard]] std::int64_t end_store(core::RequestId request) {
    Storing& storing = storing_.at(request);
    if (--storing.moves > 0) {
      return 0;
    }
    const std::int64_t have_left = storing.have_left;
    storing_.erase(request);
    return have_left;
  }
  /// Whether blocks of the instance are still read.
  [[nodiscard]] bool is_storing() const { return !storing_.empty(); }

  /// The instance is gone, with what it knew. What a store shared by all has been asked for stays
  /// known.
  void forget_all() {
    storing_.clear();
    if (all_.top() != TierKind::kShared) {
      uses_.clear();
    }
  }

 private:
  struct Storing {
    std::int64_t moves = 0;
    std::int64_t have_left = 0;  ///< Attempts; of a request that was sent again more than one.
  };
  using Uses = core::KeyMap<std::int64_t>;

  [[nodiscard]] const KvLayout& layout() const { return all_.layout(instance_); }
  [[nodiscard]] store::BlockKey key(Hashes hashes, std::int64_t chunk) const {
    return hashes[static_cast<std::size_t>((chunk + 1) * layout().blocks_per_chunk - 1)] ^
           layout().key_salt;
  }
  /// Uses of the tier that is written first.
  [[nodiscard]] Uses& uses() {
    return all_.top() == TierKind::kShared ? all_.connectors_.front()->uses_ : uses_;
  }
  void plan(Due::Kind kind, Move move, core::Duration after) const {
    all_.plan(core::SimTime::saturating_sum(now_, std::max(after, core::Duration::ticks(1))),
              {.kind = kind, .move = std::move(move)});
  }

  /// Blocks behind the first `local` that tiers hold one after the other, in whole blocks of a
  /// tier; less than one of those is not worth a load (vLLM).
  [[nodiscard]] std::int64_t available(Hashes hashes, std::int64_t local) const {
    const std::int64_t chunk = layout().blocks_per_chunk;
    const std::int64_t chunks = std::ssize(hashes) / chunk;
    std::int64_t end = local / chunk;
    while (end < chunks && all_.where(key(hashes, end), instance_)) {
      ++end;
    }
    const std::int64_t blocks = end * chunk - local;
    return blocks >= std::max(chunk, all_.options_.rules.min_hit_blocks.value_or(1)) ? blocks : 0;
  }

  /// Each block from the fastest tier that has it, tier by tier. Returns the load's number.
  std::uint64_t load(core::RequestId request,
                     Hashes hashes,
                     std::int64_t local,
                     std::int64_t loaded) {
    const std::int64_t chunk = layout().blocks_per_chunk;
    std::array<Move, kNumTiers> moves;
    for (std::int64_t i = local / chunk; i < (local + loaded) / chunk; ++i) {
      const store::BlockKey block = key(hashes, i);
      const TierKind kind = *all_.where(block, instance_);
      all_.tier(kind, instance_)->begin_read(block);
      Move& move = moves[static_cast<std::size_t>(kind)];
      move.keys.push_back(block);
      move.blocks += (i + 1) * chunk - std::max(i * chunk, local);
    }
    Load& waiting = all_.loads_[{instance_, ++num_loads_}];
    waiting.begun = now_;
    for (std::size_t i = 0; i < kNumTiers; ++i) {
      if (moves[i].blocks == 0) {
        continue;
      }
      ++waiting.parts;
      moves[i].tier = static_cast<TierKind>(i);
      moves[i].instance = instance_;
      moves[i].request = request;
      moves[i].load = num_loads_;
      plan(Due::Kind::kLoad, std::move(moves[i]), all_.options_.tiers[i].latency);
    }
    return num_loads_;
  }

  KvOffload& all_;
  core::InstanceId instance_;
  core::SimTime now_;
  std::uint64_t num_loads_ = 0;
  std::map<core::RequestId, Storing> storing_;
  Uses uses_;
};

}  // namespace ridgeline::cluster

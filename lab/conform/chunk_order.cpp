// Which chunks of a host's memory give way, as vLLM's releases choose them
// (v1/kv_offload/cpu/policies).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cluster/store/eviction.hpp"
#include "cluster/store/key_list.hpp"
#include "lab/conform/chunk_cache.hpp"

namespace ridgeline::conform {
namespace {

/// The chunk of the lowest rank gives way. Up to 0.30 a chunk is ranked as it becomes idle or is
/// touched; from 0.31 on by requests, tails below heads.
class LeastRecent final : public ChunkOrder {
 public:
  explicit LeastRecent(const ChunkRules& rules) : rules_(rules) {}

  void insert(BlockKey key, ChunkUses& uses) override {
    if (rules_.ranks_running) {
      set(key, {rank_of(uses), -uses.places[key]});
    } else if (rules_.follows_requests) {
      set(key, {++last_, 0});
    } else {
      ranks_[key] = {};
    }
  }
  void touch(std::span<const BlockKey> keys, const IsIdle& /*is_ready*/) override {
    for (const BlockKey key : keys | std::views::reverse) {
      const auto known = ranks_.find(key);
      if (known != ranks_.end() && idle_.contains({known->second, key})) {
        set(key, {++last_, 0});
      }
    }
  }
  void use(std::span<const BlockKey> keys, ChunkUses& uses) override {
    const std::int64_t rank = rank_of(uses);
    for (const BlockKey key : keys) {
      const Rank now = {rank, -uses.places[key]};
      if (const auto known = ranks_.find(key); known != ranks_.end() && known->second < now) {
        set(key, now);
      }
    }
  }
  void miss(std::span<const BlockKey> keys) override { static_cast<void>(keys); }
  void finish(std::span<const BlockKey> keys, const ChunkUses& /*uses*/) override {
    for (const BlockKey key : keys | std::views::reverse) {
      if (ranks_.contains(key)) {
        set(key, {++last_, 0});
      }
    }
  }
  void set_idle(BlockKey key, bool is_idle) override {
    if (!is_idle) {
      idle_.erase({ranks_.at(key), key});
      return;
    }
    if (!rules_.follows_requests) {
      ranks_[key] = {++last_, 0};
    }
    idle_.insert({ranks_.at(key), key});
  }
  std::vector<BlockKey> evict(std::int64_t count, const IsIdle& may_go) override {
    std::vector<std::pair<Rank, BlockKey>> chosen;
    for (auto it = idle_.begin(); it != idle_.end() && std::ssize(chosen) < count; ++it) {
      if (may_go(it->second)) {
        chosen.push_back(*it);
      }
    }
    std::vector<BlockKey> gone;
    if (std::ssize(chosen) == count) {
      for (const auto& entry : chosen) {
        idle_.erase(entry);
        ranks_.erase(entry.second);
        gone.push_back(entry.second);
      }
    }
    return gone;
  }

 private:
  using Rank = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] std::int64_t rank_of(ChunkUses& uses) {
    if (uses.rank == 0) {
      uses.rank = ++last_;
    }
    return uses.rank;
  }
  void set(BlockKey key, Rank rank) {
    const bool was_idle = idle_.erase({ranks_[key], key}) > 0;
    ranks_[key] = rank;
    if (was_idle) {
      idle_.insert({rank, key});
    }
  }

  ChunkRules rules_;
  std::int64_t last_ = 0;
  std::unordered_map<BlockKey, Rank> ranks_;
  std::set<std::pair<Rank, BlockKey>> idle_;
};

/// Chunks used once, and chunks used more often; the share of either follows what was missed.
class Adaptive final : public ChunkOrder {
 public:
  Adaptive(const ChunkRules& rules, std::int64_t capacity) : rules_(rules), capacity_(capacity) {}

  void insert(BlockKey key, ChunkUses& /*uses*/) override {
    once_.add(key);
    gone_once_.remove(key);
    gone_often_.remove(key);
  }
  void touch(std::span<const BlockKey> keys, const IsIdle& is_ready) override {
    for (const BlockKey key : keys | std::views::reverse) {
      if (once_.contains(key) && is_ready(key)) {
        promote(key);
      } else if (!once_.touch(key) && !often_.touch(key)) {
        adapt(key);
      }
    }
  }
  void use(std::span<const BlockKey> keys, ChunkUses& uses) override {
    static_cast<void>(keys);
    static_cast<void>(uses);
  }
  void miss(std::span<const BlockKey> keys) override {
    for (const BlockKey key : keys | std::views::reverse) {
      adapt(key);
    }
  }
  void finish(std::span<const BlockKey> keys, const ChunkUses& uses) override {
    for (const BlockKey key : keys | std::views::reverse) {
      if (uses.reused.contains(key)) {
        if (once_.contains(key)) {
          promote(key);
        } else {
          often_.touch(key);
        }
      } else if (uses.inserted.contains(key) && !once_.touch(key)) {
        often_.touch(key);
      }
    }
  }
  void set_idle(BlockKey key, bool is_idle) override {
    static_cast<void>(key);
    static_cast<void>(is_idle);
  }
  std::vector<BlockKey> evict(std::int64_t count, const IsIdle& may_go) override {
    std::vector<std::pair<BlockKey, bool>> chosen;  // And whether it was used once.
    std::unordered_set<BlockKey> taken;
    std::int64_t num_once = once_.size();
    const auto choose = [&](const store::KeyList& list, bool is_once) {
      const auto key = list.oldest(
          [&](BlockKey candidate) { return !taken.contains(candidate) && may_go(candidate); });
      if (key) {
        taken.insert(*key);
        chosen.emplace_back(*key, is_once);
        num_once -= is_once ? 1 : 0;
      }
      return key.has_value();
    };
    for (std::int64_t i = 0; i < count; ++i) {
      const bool once_first = num_once >= static_cast<std::int64_t>(room_for_once_);
      if (!(once_first && choose(once_, true)) && !choose(often_, false) &&
          !(rules_.gives_up_either && choose(once_, true))) {
        return {};
      }
    }
    std::vector<BlockKey> gone;
    for (const auto& [key, is_once] : chosen) {
      (is_once ? once_ : often_).remove(key);
      (is_once ? gone_once_ : gone_often_).add(key);
      gone.push_back(key);
    }
    for (store::KeyList* const list : {&gone_once_, &gone_often_}) {
      while (list->size() > capacity_) {
        list->remove_oldest();
      }
    }
    return gone;
  }

 private:
  void promote(BlockKey key) {
    once_.remove(key);
    often_.add(key);
  }
  /// What was given up of late is missed: the list that it was in gets more room.
  void adapt(BlockKey key) {
    const auto once = static_cast<double>(gone_once_.size());
    const auto often = static_cast<double>(gone_often_.size());
    if (gone_once_.touch(key)) {
      room_for_once_ =
          std::min(room_for_once_ + std::max(1.0, often / once), static_cast<double>(capacity_));
    } else if (gone_often_.touch(key)) {
      room_for_once_ = std::max(room_for_once_ - std::max(1.0, once / often), 0.0);
    }
  }

  ChunkRules rules_;
  std::int64_t capacity_;
  double room_for_once_ = 0.0;
  store::KeyList once_;
  store::KeyList often_;
  store::KeyList gone_once_;
  store::KeyList gone_often_;
};

}  // namespace

std::unique_ptr<ChunkOrder> make_chunk_order(const ChunkRules& rules, std::int64_t capacity) {
  if (rules.is_adaptive) {
    return std::make_unique<Adaptive>(rules, capacity);
  }
  return std::make_unique<LeastRecent>(rules);
}

}  // namespace ridgeline::conform

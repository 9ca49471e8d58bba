#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cluster/store/eviction.hpp"
#include "cluster/store/tier.hpp"
#include "core/time.hpp"

namespace ridgeline::store {
namespace {

constexpr BlockKey kKeys = 24;

/// Blocks differ in size, but not from one time to the next.
std::int64_t bytes_of(BlockKey key) {
  return static_cast<std::int64_t>(key % 3) + 1;
}

/// A tier beside plain sets of what it must hold.
struct Model {
  std::set<BlockKey> writing;
  std::map<BlockKey, int> readers;  ///< Readers of the blocks that can be read.

  [[nodiscard]] std::size_t size() const { return writing.size() + readers.size(); }
};

/// Blocks are conserved, whatever the policy: one comes in or none, one goes or none, and none that
/// is read or written goes.
RC_GTEST_PROP(Tiers, HoldWhatWasWrittenAndHasNotGivenWay, ()) {
  const auto& entry = evictions()[*rc::gen::inRange<std::size_t>(0, evictions().size())];
  const auto capacity = *rc::gen::inRange<std::int64_t>(1, 12);
  const core::Duration kept = core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, 40));
  Tier tier(capacity, entry.make(capacity), kept);
  Model model;
  std::map<core::SimTime, std::set<BlockKey>> was_there;  // Before the instant's changes.
  core::SimTime now;
  const auto steps = *rc::gen::inRange(0, 300);
  for (int step = 0; step < steps; ++step) {
    now += core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(1, 4));
    tier.set_now(now);
    for (const auto& [key, readers] : model.readers) {
      was_there[now].insert(key);
    }
    was_there.try_emplace(now);
    const auto key = *rc::gen::inRange<BlockKey>(0, kKeys);
    std::vector<BlockKey> evicted;
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1: {
        const Tier::Write write = tier.begin_write(key, bytes_of(key), evicted);
        RC_ASSERT(evicted.size() <= static_cast<std::size_t>(bytes_of(key)));
        for (const BlockKey gone : evicted) {
          RC_ASSERT(model.readers.at(gone) == 0);
          model.readers.erase(gone);
        }
        const bool is_there = model.writing.contains(key) || model.readers.contains(key);
        RC_ASSERT(is_there == (write == Tier::Write::kPresent));
        if (write == Tier::Write::kRefused) {
          RC_ASSERT(
              std::ranges::none_of(model.readers, [](const auto& one) { return one.second == 0; }));
        } else if (write == Tier::Write::kBegun) {
          model.writing.insert(key);
        }
      } break;
      case 2:
        if (model.writing.contains(key)) {
          tier.end_write(key);
          model.writing.erase(key);
          model.readers[key] = 0;
        }
        break;
      case 3:
        if (model.readers.contains(key)) {
          tier.begin_read(key);
          ++model.readers[key];
        }
        break;
      case 4:
        if (const auto found = model.readers.find(key);
            found != model.readers.end() && found->second > 0) {
          tier.end_read(key);
          --found->second;
        }
        break;
      default:
        tier.touch(key);
    }
    RC_ASSERT(tier.size() == static_cast<std::int64_t>(model.size()));
    std::int64_t used = 0;
    for (BlockKey each = 0; each < kKeys; ++each) {
      used += model.writing.contains(each) || model.readers.contains(each) ? bytes_of(each) : 0;
    }
    RC_ASSERT(tier.used() == used);
    RC_ASSERT(used <= capacity);
    for (BlockKey each = 0; each < kKeys; ++each) {
      RC_ASSERT(tier.holds(each) == model.readers.contains(each));
    }
    for (const auto& [at, held] : was_there) {
      for (BlockKey each = 0; each < kKeys && now - at <= kept; ++each) {
        RC_ASSERT(tier.held_at(each, at) == held.contains(each));
      }
    }
  }
  RC_ASSERT(tier.totals().peak <= capacity);
}

}  // namespace
}  // namespace ridgeline::store

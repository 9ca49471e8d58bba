#include "cluster/store/tier.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/store/eviction.hpp"
#include "cluster/store/policies/policies.hpp"
#include "core/time.hpp"

namespace ridgeline::store {
namespace {

using core::Duration;
using core::SimTime;
using testing::ElementsAre;
using testing::IsEmpty;

SimTime at_ms(std::int64_t ms) {
  return SimTime::at(Duration::milliseconds(ms));
}

TEST(Tier, ABlockCanBeReadOnceItIsWritten) {
  Tier tier(2, make_lru(2));
  std::vector<BlockKey> evicted;
  EXPECT_EQ(tier.begin_write(1, 1, evicted), Tier::Write::kBegun);
  EXPECT_FALSE(tier.holds(1));
  EXPECT_EQ(tier.begin_write(1, 1, evicted), Tier::Write::kPresent);
  tier.end_write(1);
  EXPECT_TRUE(tier.holds(1));
  EXPECT_THAT(evicted, IsEmpty());
  EXPECT_EQ(tier.totals(), (TierTotals{.written = 1, .peak = 1}));
}

TEST(Tier, BlocksThatAreReadOrWrittenStay) {
  Tier tier(2, make_lru(2));
  std::vector<BlockKey> evicted;
  tier.begin_write(1, 1, evicted);
  tier.end_write(1);
  tier.begin_read(1);
  tier.begin_write(2, 1, evicted);
  EXPECT_EQ(tier.begin_write(3, 1, evicted), Tier::Write::kRefused);
  EXPECT_THAT(evicted, IsEmpty());
  tier.end_write(2);
  EXPECT_EQ(tier.begin_write(3, 1, evicted), Tier::Write::kBegun);
  EXPECT_THAT(evicted, ElementsAre(2));
  tier.end_read(1);
  EXPECT_EQ(tier.begin_write(4, 1, evicted), Tier::Write::kBegun);
  EXPECT_THAT(evicted, ElementsAre(2, 1));
  EXPECT_EQ(tier.totals(), (TierTotals{.written = 2, .evicted = 2, .refused = 1, .peak = 2}));
}

/// Room is in bytes: a large block takes the place of two small ones, and one that finds no room
/// may have made others go.
TEST(Tier, BlocksOfSeveralSizesShareItsRoom) {
  Tier tier(10, make_lru(10));
  std::vector<BlockKey> evicted;
  for (const BlockKey key : {BlockKey{1}, BlockKey{2}, BlockKey{3}}) {
    tier.begin_write(key, 3, evicted);
    tier.end_write(key);
  }
  EXPECT_EQ(tier.begin_write(4, 6, evicted), Tier::Write::kBegun);
  EXPECT_THAT(evicted, ElementsAre(1, 2));
  EXPECT_EQ(tier.used(), 9);
  EXPECT_EQ(tier.begin_write(5, 5, evicted), Tier::Write::kRefused);
  EXPECT_THAT(evicted, ElementsAre(1, 2, 3));
  EXPECT_EQ(tier.used(), 6);
  EXPECT_EQ(tier.totals(), (TierTotals{.written = 3, .evicted = 3, .refused = 1, .peak = 3}));
}

/// Under either policy the block leaves no trace: its place is free.
TEST(Tier, AWriteThatStopsHalfWayWasNeverThere) {
  for (const auto make : {make_lru, make_arc}) {
    Tier tier(1, make(1));
    std::vector<BlockKey> evicted;
    tier.begin_write(1, 1, evicted);
    tier.abandon_write(1);
    EXPECT_FALSE(tier.holds(1));
    EXPECT_EQ(tier.size(), 0);
    EXPECT_EQ(tier.begin_write(2, 1, evicted), Tier::Write::kBegun);
    tier.end_write(2);
    EXPECT_EQ(tier.begin_write(1, 1, evicted), Tier::Write::kBegun);
    EXPECT_THAT(evicted, ElementsAre(2));
    EXPECT_EQ(tier.totals().written, 1);
  }
}

TEST(Tier, IsLookedUpSince) {
  Tier tier(1, make_lru(1), Duration::milliseconds(10));
  std::vector<BlockKey> evicted;
  tier.begin_write(1, 1, evicted);
  tier.set_now(at_ms(5));
  tier.end_write(1);
  EXPECT_TRUE(tier.held_at(1, at_ms(6), at_ms(5)));
  EXPECT_FALSE(tier.held_at(1, at_ms(6), at_ms(6)));
}

TEST(Tier, IsLookedUpAsItWas) {
  Tier tier(1, make_lru(1), Duration::milliseconds(10));
  std::vector<BlockKey> evicted;
  tier.begin_write(1, 1, evicted);
  tier.set_now(at_ms(5));
  tier.end_write(1);
  tier.set_now(at_ms(8));
  tier.begin_write(2, 1, evicted);
  tier.end_write(2);
  EXPECT_FALSE(tier.held_at(1, at_ms(5)));  // What happened at that instant had not happened.
  EXPECT_TRUE(tier.held_at(1, at_ms(6)));
  EXPECT_TRUE(tier.held_at(1, at_ms(8)));
  EXPECT_FALSE(tier.held_at(1, at_ms(9)));
  EXPECT_FALSE(tier.held_at(2, at_ms(8)));
  EXPECT_TRUE(tier.held_at(2, at_ms(9)));
  tier.set_now(at_ms(18));
  EXPECT_TRUE(tier.held_at(1, at_ms(8)));
  EXPECT_FALSE(tier.holds(1));
}

}  // namespace
}  // namespace ridgeline::store

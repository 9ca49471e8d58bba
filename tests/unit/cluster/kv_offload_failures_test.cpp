#include <cstdint>

#include <gtest/gtest.h>

#include "cluster/kv_offload.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "tiers.hpp"

namespace ridgeline::cluster {
namespace {

/// Host memory is the engine's: the prompt is computed again.
TEST_F(Tiers, ACrashTakesTheHostsBlocksWithIt) {
  ask(0, 1, 64);  // A step of 1,640 us; its four blocks are in the host at 5,640 us.
  ask(20'000, 1, 64);
  crash(0, 10'000);
  run();
  EXPECT_EQ(record(1).cached_tokens, core::Tokens(0));
  EXPECT_EQ(record(1).first_token, instant_us(20'000 + 1'640));
  EXPECT_EQ(totals_.hits, kBlock * 0);
  EXPECT_EQ(totals_.tiers[kHost].blocks.written, 8);
  EXPECT_EQ(totals_.tiers[kHost].blocks.peak, 4);
  EXPECT_EQ(used_blocks_, core::Blocks(0));
}

/// The store belongs to no instance.
TEST_F(Tiers, ACrashLeavesTheStore) {
  offload_.tiers[kHost] = {};
  offload_.tiers[kSharedStore] = tier(100);
  ask(0, 1, 64);
  ask(20'000, 1, 64);
  crash(0, 10'000);
  run();
  EXPECT_EQ(record(1).cached_tokens, core::Tokens(63));
  EXPECT_EQ(totals_.hits, kBlock * 4);
}

/// Two of four blocks were written at 4,000 us: none of them can be read, and all can be written
/// anew.
TEST_F(Tiers, WhatTheStoreHasGotInPartIsGone) {
  offload_.tiers[kHost] = {};
  offload_.tiers[kSharedStore] = tier(100);
  ask(0, 1, 64);
  ask(20'000, 1, 64);
  ask(40'000, 2, 127);
  ask(60'000, 1, 64);
  crash(0, 4'000);
  run();
  EXPECT_EQ(record(1).cached_tokens, core::Tokens(0));
  EXPECT_EQ(record(3).cached_tokens, core::Tokens(63));
  EXPECT_EQ(totals_.tiers[kSharedStore].blocks.written, 4 + 7);
  EXPECT_EQ(used_blocks_, core::Blocks(0));
}

/// The second request loads from 20,000 us to 24,000; sent again it loads anew.
TEST_F(Tiers, ALoadEndsWithItsInstance) {
  offload_.tiers[kHost] = {};
  offload_.tiers[kSharedStore] = tier(100);
  ask(0, 1, 64);
  ask(6'000, 2, 127);
  ask(20'000, 1, 64);
  crash(0, 22'000);
  run();
  EXPECT_EQ(record(2).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(record(2).attempts, 2);
  EXPECT_EQ(totals_.loads, 1);
  EXPECT_EQ(totals_.hits, kBlock * 8);
  EXPECT_EQ(totals_.tiers[kSharedStore].bytes_read, 4'000);
  EXPECT_EQ(used_blocks_, core::Blocks(0));
}

}  // namespace
}  // namespace ridgeline::cluster

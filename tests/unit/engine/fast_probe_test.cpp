// Block ids of the scheduler that users' runs go through, by hand.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

using core::BlockId;

std::vector<BlockId> block_row(const std::vector<std::uint32_t>& ids) {
  return {ids.begin(), ids.end()};
}

/// Six blocks of four tokens.
engine::EngineOptions six_blocks(bool caching) {
  auto options = test::tiny_options("0.11");
  options.num_gpu_blocks = core::Blocks(1 + 6);
  options.enable_prefix_caching = caching;
  return options;
}

TEST(FastProbe, BlocksAreTakenFromTheHeadAndComeBackLastFirst) {
  test::ProbeRun run(engine::make_fast_probe(six_blocks(false)));
  run.add(test::tiny_request(0, 8, 1));
  run.add(test::tiny_request(1, 7, 3));
  run.schedule();
  EXPECT_EQ(run->blocks(core::RequestId(0)).front(), block_row({1, 2}));
  EXPECT_EQ(run->blocks(core::RequestId(1)).front(), block_row({3, 4}));
  run.end();  // Request 0 has its one token: blocks 2 and 1 go to the tail.
  EXPECT_EQ(run->free_list(), block_row({5, 6, 2, 1}));
  run.step();  // Request 1 computes its eighth token, the last of block 4.
  run.schedule();
  EXPECT_EQ(run->blocks(core::RequestId(1)).front(), block_row({3, 4, 5}));
}

TEST(FastProbe, AHitIsTheVeryBlockThatHeldIt) {
  test::ProbeRun run(engine::make_fast_probe(six_blocks(true)));
  run.add(test::tiny_request(0, 8, 1, 7));
  run.step();
  EXPECT_EQ(run->free_list(), block_row({3, 4, 5, 6, 2, 1}));
  run.add(test::tiny_request(1, 8, 2, 7));
  // Its first block is found; the second would leave nothing to compute and is computed anew.
  EXPECT_EQ(run.schedule(), "1:4");
  EXPECT_EQ(run->blocks(core::RequestId(1)).front(), block_row({1, 3}));
  EXPECT_EQ(run->free_list(), block_row({4, 5, 6, 2}));
}

TEST(FastProbe, WhatTheFastTwinHandsOverComesFromTheOther) {
  auto options = test::tiny_options("0.28");
  EXPECT_EQ(dynamic_cast<engine::ProbeExtras*>(engine::make_fast_probe(options).get()), nullptr);
  options.kv_transfer = true;
  EXPECT_NE(dynamic_cast<engine::ProbeExtras*>(engine::make_fast_probe(options).get()), nullptr);
}

}  // namespace
}  // namespace ridgeline

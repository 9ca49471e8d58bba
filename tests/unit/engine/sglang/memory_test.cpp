// What SGLang's scheduler frees and keeps of its pool.
#include <gtest/gtest.h>

#include "engine/sglang/options.hpp"
#include "engine/sglang/scheduler.hpp"
#include "support/sglang_run.hpp"

namespace ridgeline::engine::sglang {
namespace {

using test::SglangRun;
using test::tiny_sglang;

TEST(SglangMemory, APromptEntersTheTreeAfterItsStepAndOutputsAtTheEnd) {
  SglangRun run(tiny_sglang());
  run.add({.id = 0, .prompt = 10, .max_tokens = 3});
  EXPECT_EQ(run.step(), "extend 0:10 | run wait | free 54");
  EXPECT_EQ(run.scheduler.protected_size(), 10);
  static_cast<void>(run.step());
  EXPECT_EQ(run.scheduler.protected_size(), 10);
  EXPECT_EQ(run.scheduler.private_tokens(), 1);
  static_cast<void>(run.step());
  EXPECT_EQ(run.scheduler.protected_size(), 0);
  EXPECT_EQ(run.scheduler.evictable(), 12);  // The last token has no KV.
  EXPECT_EQ(run.scheduler.private_tokens(), 0);
}

TEST(SglangMemory, ASharedPrefixIsComputedOnceButForOneToken) {
  SglangRun run(tiny_sglang());
  run.add({.id = 0, .prompt = 10, .max_tokens = 3, .content = 7});
  EXPECT_EQ(run.step(), "extend 0:10 | run wait | free 54");
  run.add({.id = 1, .prompt = 10, .max_tokens = 3, .content = 7});
  EXPECT_EQ(run.step(), "extend 1:1 | run 0 wait | free 53");
  // What it computed again was there already: its slot is free.
  EXPECT_EQ(run.scheduler.free_tokens(), 54);
  EXPECT_EQ(run.scheduler.protected_size(), 10);
  EXPECT_EQ(run.scheduler.counts().prefix_hits.value(), 9);
  EXPECT_EQ(run.scheduler.counts().prefix_queries.value(), 20);
}

TEST(SglangMemory, EvictsAsMuchAsIsAskedForNotAsIsMissing) {
  Options options = tiny_sglang();
  options.max_total_num_tokens = 30;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 8, .max_tokens = 1});
  run.add({.id = 1, .prompt = 8, .max_tokens = 1});
  static_cast<void>(run.step());
  EXPECT_EQ(run.scheduler.free_tokens(), 14);
  EXPECT_EQ(run.scheduler.evictable(), 16);
  run.add({.id = 2, .prompt = 15, .max_tokens = 1});
  // One token is missing, and both old prompts go: 15 are asked for.
  EXPECT_EQ(run.step(), "extend 2:15 | run wait | free 15");
  EXPECT_EQ(run.scheduler.iteration().evicted_tokens, 16);
}

TEST(SglangMemory, CountsInWholePages) {
  Options options = tiny_sglang();
  options.page_size = 4;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 10, .max_tokens = 5});
  EXPECT_EQ(run.step(), "extend 0:10 | run wait | free 52");  // Three pages.
  EXPECT_EQ(run.scheduler.protected_size(), 8);
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 52");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 52");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 48");  // Token 13.
  static_cast<void>(run.step());
  EXPECT_EQ(run.scheduler.evictable(), 12);  // 14 tokens with KV, in whole pages.
  EXPECT_EQ(run.scheduler.free_tokens(), 52);
}

TEST(SglangMemory, StatesOnAGridAreWhatTheTreeGets) {
  Options options = tiny_sglang("0.5.23");
  options.state_slots = 6;
  options.state_buffers = 1;
  options.state_grid = 4;
  options.state_track = 8;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 10, .max_tokens = 21, .content = 7});
  EXPECT_EQ(run.step(), "extend 0:10 | run wait | free 54");
  EXPECT_EQ(run.scheduler.protected_size(), 8) << "the last multiple of 4";
  EXPECT_EQ(run.scheduler.free_states(), 3) << "its own, one on its way, one in the tree";
  for (int step = 0; step < 20; ++step) {
    static_cast<void>(run.step());
  }
  // 30 tokens have KV: it gets those to the last multiple of 8.
  EXPECT_EQ(run.scheduler.evictable(), 24);
  EXPECT_EQ(run.scheduler.private_tokens(), 0);
  EXPECT_EQ(run.scheduler.free_states() + run.scheduler.evictable_states(), 6);
  EXPECT_EQ(run.scheduler.evictable_states(), 2);
  // A prompt that goes on is found up to a state.
  run.add({.id = 1, .prompt = 10, .max_tokens = 1, .content = 7});
  EXPECT_EQ(run.step(), "extend 1:2 | run wait | free 38");
}

}  // namespace
}  // namespace ridgeline::engine::sglang

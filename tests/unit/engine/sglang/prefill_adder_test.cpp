#include "engine/sglang/prefill_adder.hpp"

#include <gtest/gtest.h>

#include "engine/sglang/options.hpp"
#include "engine/sglang/scheduler.hpp"
#include "support/sglang_run.hpp"

namespace ridgeline::engine::sglang {
namespace {

using test::SglangRun;
using test::tiny_sglang;

TEST(SglangPrefillAdder, OnePromptIsCutAndGoesOnFirst) {
  Options options = tiny_sglang();
  options.chunked_prefill_size = 8;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 12, .max_tokens = 2});
  run.add({.id = 1, .prompt = 6, .max_tokens = 2});
  EXPECT_EQ(run.step(), "extend 0:8 | run wait 1 | free 56");
  EXPECT_EQ(run.step(), "extend 0:4 1:4 | run wait | free 48");
  ASSERT_NE(run.scheduler.chunked(), nullptr);
  EXPECT_EQ(run.step(), "extend 1:2 | run 0 wait | free 46");
  EXPECT_EQ(run.scheduler.chunked(), nullptr);
  EXPECT_EQ(run.step(), "decode 0:1 1:1 | run 0 1 wait | free 44");
}

TEST(SglangPrefillAdder, WithoutChunksTheFirstPromptIsAlwaysTaken) {
  Options options = tiny_sglang();
  options.max_prefill_tokens = 8;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 20, .max_tokens = 2});
  run.add({.id = 1, .prompt = 3, .max_tokens = 2});
  run.add({.id = 2, .prompt = 5, .max_tokens = 2});
  EXPECT_EQ(run.step(), "extend 0:20 | run wait 1 2 | free 44");
  // 5 is not below the 5 that are left of 8.
  EXPECT_EQ(run.step(), "extend 1:3 | run 0 wait 2 | free 41");
  EXPECT_EQ(run.step(), "extend 2:5 | run 0 1 wait | free 36");
}

TEST(SglangPrefillAdder, TheLatchHoldsUntilARequestLeaves) {
  SglangRun run(tiny_sglang());
  run.add({.id = 0, .prompt = 20, .max_tokens = 2});
  run.add({.id = 1, .prompt = 10, .max_tokens = 10});
  EXPECT_EQ(run.step(), "extend 0:20 1:10 | run wait | free 34");
  run.add({.id = 2, .prompt = 20, .max_tokens = 10});
  // 34 free; of the 1 + 9 tokens to come 0.7 are expected: 34 - 7 is not above 20 + 10 + 1.
  EXPECT_EQ(run.step(), "decode 0:1 1:1 | run 0 1 wait 2 | free 32");
  EXPECT_TRUE(run.scheduler.batch_is_full());
  EXPECT_EQ(run.step(), "decode 1:1 | run 1 wait 2 | free 31");  // Request 0 has ended.
  EXPECT_FALSE(run.scheduler.batch_is_full());
  EXPECT_EQ(run.step(), "extend 2:20 | run 1 wait | free 11");
}

TEST(SglangPrefillAdder, AVersionBeforeThePageReserveAdmitsOneTokenMore) {
  for (const bool newer : {false, true}) {
    Options options = tiny_sglang(newer ? "main" : "0.5.5");
    options.max_total_num_tokens = 32;
    SglangRun run(options);
    run.add({.id = 0, .prompt = 10, .max_tokens = 2});
    run.add({.id = 1, .prompt = 10, .max_tokens = 9});
    // 10 + 2 (+ 1) are promised: 20 are left against 19, or 19 against 20.
    EXPECT_EQ(
        run.step(),
        newer ? "extend 0:10 | run wait 1 | free 22" : "extend 0:10 1:10 | run wait | free 12");
  }
}

TEST(SglangPrefillAdder, BetterPrioritiesTakeTheSeatsOfWorse) {
  Options options = tiny_sglang();
  options.max_running_requests = 1;
  options.enable_priority_scheduling = true;
  options.priority_scheduling_preemption_threshold = 2;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 9, .priority = 1});
  EXPECT_EQ(run.step(), "extend 0:4 | run wait | free 60");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 59");
  run.add({.id = 1, .prompt = 4, .max_tokens = 9, .priority = 3});  // By 2, which is not enough.
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait 1 | free 58");
  run.add({.id = 2, .prompt = 4, .max_tokens = 9, .priority = 5});
  EXPECT_EQ(run.step(), "extend 2:4 | run wait 1 0 | free 56");
}

}  // namespace
}  // namespace ridgeline::engine::sglang

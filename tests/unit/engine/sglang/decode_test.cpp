// Retraction and quiet steps of SGLang's scheduler.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/scheduler.hpp"
#include "support/sglang_run.hpp"

namespace ridgeline::engine::sglang {
namespace {

using test::SglangRun;
using test::tiny_sglang;

/// Expects hardly any outputs of running requests, so that too many are admitted.
Options optimistic() {
  Options options = tiny_sglang();
  options.max_total_num_tokens = 24;
  options.schedule_conservativeness = 0.01;
  options.clip_max_new_tokens = 1;
  options.disable_radix_cache = true;
  return options;
}

TEST(SglangDecode, TakesBackTheRequestWithFewestOutputsAndThenTheLongestPrompt) {
  SglangRun run(optimistic());
  run.add({.id = 0, .prompt = 4, .max_tokens = 12});
  EXPECT_EQ(run.step(), "extend 0:4 | run wait | free 20");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 19");
  run.add({.id = 1, .prompt = 7, .max_tokens = 12});
  run.add({.id = 2, .prompt = 6, .max_tokens = 12});
  EXPECT_EQ(run.step(), "extend 1:7 2:6 | run 0 wait | free 6");
  EXPECT_EQ(run.step(), "decode 0:1 1:1 2:1 | run 0 1 2 wait | free 3");
  EXPECT_EQ(run.step(), "decode 0:1 1:1 2:1 | run 0 1 2 wait | free 0");
  // Request 1 has as many outputs as 2, and the longer prompt: its 9 tokens are free.
  EXPECT_EQ(run.step(), "decode 0:1 2:1 | run 0 2 wait 1 | free 7");
  EXPECT_EQ(run.scheduler.iteration().retracted, std::vector{core::RequestId(1)});
  // (outputs 4 + 3, and 20 for each) / (12 + 12 + 1), at most 1
  EXPECT_EQ(run.scheduler.iteration().new_token_ratio, 1.0);
  EXPECT_EQ(run.all[1]->outputs, 3);  // It keeps them, and computes them again.
}

TEST(SglangDecode, QuietRoundsEndBeforeTheFirstEnd) {
  SglangRun run(tiny_sglang());
  run.add({.id = 0, .prompt = 4, .max_tokens = 12});
  EXPECT_EQ(run.scheduler.quiet_steps(), 0);
  static_cast<void>(run.step());
  EXPECT_EQ(run.scheduler.quiet_steps(), 0);  // After a prefill.
  static_cast<void>(run.step());
  EXPECT_EQ(run.scheduler.quiet_steps(), 12 - 2 - 1);  // The last token is none of them.
  run.add({.id = 1, .prompt = 4, .max_tokens = 12});
  EXPECT_EQ(run.scheduler.quiet_steps(), 0);
}

TEST(SglangDecode, QuietRoundsEndBeforeTheLookForRequests) {
  Options options = tiny_sglang();
  options.scheduler_recv_interval = 5;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 30});
  for (int i = 0; i < 5 + 1; ++i) {
    static_cast<void>(run.step());
  }
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 58");  // The counter stands at 1.
  run.add({.id = 1, .prompt = 4, .max_tokens = 12});
  EXPECT_EQ(run.scheduler.quiet_steps(), 3);
}

TEST(SglangDecode, QuietRoundsLeaveNoRequestWithoutAPage) {
  Options options = tiny_sglang();
  options.max_total_num_tokens = 20;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 15});
  static_cast<void>(run.step());
  static_cast<void>(run.step());
  const std::int64_t left = 20 - 4 - 1;
  EXPECT_EQ(run.scheduler.free_tokens(), left);
  EXPECT_LE(run.scheduler.quiet_steps(), left);
}

}  // namespace
}  // namespace ridgeline::engine::sglang

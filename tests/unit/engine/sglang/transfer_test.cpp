// SGLang's prefill and decode servers: what holds slots, and until when.
#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/scheduler.hpp"
#include "support/sglang_run.hpp"

namespace ridgeline::engine::sglang {
namespace {

using test::SglangRun;
using test::tiny_sglang;

domain::Request request(std::uint32_t id, std::int64_t prompt, std::int64_t outputs) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(prompt);
  request.max_tokens = core::Tokens(outputs);
  request.output_tokens = request.max_tokens;
  return request;
}

TEST(SglangTransfer, APrefillServerKeepsAPromptUntilItIsRead) {
  SglangRun run(tiny_sglang("0.5.23"));
  ASSERT_TRUE(run.scheduler.add_leg(request(0, 20, 1), {.holds_blocks = true}));
  EXPECT_EQ(run.step(), "extend 0:20 | run wait | free 44");
  EXPECT_EQ(run.scheduler.protected_size(), 20);
  EXPECT_EQ(run.scheduler.counts().running, 1);
  EXPECT_EQ(run.step(), "- | run wait | free 44");
  EXPECT_EQ(run.scheduler.counts().running, 0);
  run.scheduler.release_blocks(core::RequestId(0));
  EXPECT_EQ(run.scheduler.protected_size(), 0);
  EXPECT_EQ(run.scheduler.evictable(), 20);
}

/// A decode server of 64 tokens that keeps 8 for each request.
Options decode_server() {
  Options options = tiny_sglang("0.5.23");
  options.disable_radix_cache = true;
  options.num_reserved_decode_tokens = 8;
  options.retraction_backup = RetractionBackup::kCpuTensor;
  return options;
}

/// The last token of the prompt is the first of the answer.
Leg loaded(std::int64_t prompt) {
  return {.remote_tokens = core::Tokens(prompt - 1), .loads = true};
}

TEST(SglangTransfer, ADecodeServerGivesSlotsBeforeTheKvComes) {
  SglangRun run(decode_server());
  ASSERT_TRUE(run.scheduler.add_leg(request(0, 21, 4), loaded(21)));
  ASSERT_TRUE(run.scheduler.add_leg(request(1, 31, 4), loaded(31)));
  // The second asks for 30 and 8; 44 are free, and 8 kept for the first.
  EXPECT_EQ(run.step(), "- | run wait | free 44");
  ASSERT_EQ(run.scheduler.load_starts().size(), 1U);
  EXPECT_EQ(run.scheduler.load_starts()[0].blocks, core::Blocks(20));
  EXPECT_TRUE(run.scheduler.waits_for_others());
  EXPECT_EQ(run.step(), "- | run wait | free 44");
  run.scheduler.finish_load(core::RequestId(0), true);
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 43");
  EXPECT_FALSE(run.scheduler.waits_for_others());
}

TEST(SglangTransfer, ALoadThatFailsEndsItsRequest) {
  SglangRun run(decode_server());
  ASSERT_TRUE(run.scheduler.add_leg(request(0, 21, 4), loaded(21)));
  static_cast<void>(run.step());
  run.scheduler.finish_load(core::RequestId(0), false);
  EXPECT_EQ(run.scheduler.free_tokens(), 64);
  EXPECT_EQ(run.scheduler.take_failed().size(), 1U);
}

TEST(SglangTransfer, ARequestThatIsTakenBackGoesOnWithAllItsTokens) {
  Options options = decode_server();
  options.max_total_num_tokens = 30;
  options.num_reserved_decode_tokens = 1;
  for (const RetractionBackup backup : {RetractionBackup::kCpuTensor, RetractionBackup::kNone}) {
    options.retraction_backup = backup;
    SglangRun run(options);
    for (const std::uint32_t id : {0U, 1U}) {
      ASSERT_TRUE(run.scheduler.add_leg(request(id, 11, 8), loaded(11)));
      static_cast<void>(run.step());
      run.scheduler.finish_load(core::RequestId(id), true);
    }
    for (int step = 0; step < 5; ++step) {
      static_cast<void>(run.step());
    }
    EXPECT_EQ(run.scheduler.num_retractions(), 1);
    EXPECT_EQ(run.scheduler.retracted().size(), backup == RetractionBackup::kNone ? 0U : 1U);
    for (int step = 0; step < 12; ++step) {
      static_cast<void>(run.step());
    }
    EXPECT_EQ(run.scheduler.take_failed().size(), backup == RetractionBackup::kNone ? 1U : 0U);
    EXPECT_EQ(run.scheduler.free_tokens(), 30);
  }
}

}  // namespace
}  // namespace ridgeline::engine::sglang

#include "engine/sglang/scheduler.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/sglang/options.hpp"
#include "support/sglang_run.hpp"

namespace ridgeline::engine::sglang {
namespace {

using test::SglangRun;
using test::tiny_sglang;

TEST(SglangScheduler, APrefillIsAStepOfItsOwnAndGoesFirst) {
  SglangRun run(tiny_sglang());
  run.add({.id = 0, .prompt = 10, .max_tokens = 8});
  EXPECT_EQ(run.step(), "extend 0:10 | run wait | free 54");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 53");
  run.add({.id = 1, .prompt = 6, .max_tokens = 8});
  EXPECT_EQ(run.step(), "extend 1:6 | run 0 wait | free 47");
  EXPECT_EQ(run.step(), "decode 0:1 1:1 | run 0 1 wait | free 45");
}

TEST(SglangScheduler, AnEndIsSeenAtTheNextDecode) {
  Options options = tiny_sglang();
  options.max_running_requests = 1;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 2});
  run.add({.id = 1, .prompt = 4, .max_tokens = 2});
  EXPECT_EQ(run.step(), "extend 0:4 | run wait 1 | free 60");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait 1 | free 59");
  // It has ended, but stands in the running batch: an iteration without a batch takes it out.
  EXPECT_EQ(run.step(), "- | run wait 1 | free 59");
  EXPECT_EQ(run.step(), "extend 1:4 | run wait | free 55");
}

TEST(SglangScheduler, LooksForRequestsAtEveryNthDecodeAndAfterAPrefill) {
  Options options = tiny_sglang();
  options.scheduler_recv_interval = 3;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 20});
  EXPECT_EQ(run.step(), "- | run wait | free 64");
  EXPECT_EQ(run.step(), "- | run wait | free 64");
  EXPECT_EQ(run.step(), "extend 0:4 | run wait | free 60");
  run.add({.id = 1, .prompt = 4, .max_tokens = 20});
  EXPECT_EQ(run.step(), "extend 1:4 | run 0 wait | free 56");  // After a prefill.
  EXPECT_EQ(run.step(), "decode 0:1 1:1 | run 0 1 wait | free 54");
  run.add({.id = 2, .prompt = 4, .max_tokens = 20});
  EXPECT_EQ(run.step(), "decode 0:1 1:1 | run 0 1 wait | free 52");
  EXPECT_EQ(run.step(), "decode 0:1 1:1 | run 0 1 wait | free 50");
  EXPECT_EQ(run.step(), "extend 2:4 | run 0 1 wait | free 46");
}

TEST(SglangScheduler, TheOverlappedLoopDecodesOnceMoreThanNeeded) {
  Options options = tiny_sglang("0.5.5");
  options.overlap = true;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 2});
  EXPECT_EQ(run.step(), "extend 0:4 | run wait | free 60");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 59");
  EXPECT_EQ(run.step(), "decode 0:1 | run 0 wait | free 58");  // Its last token is in flight.
  EXPECT_EQ(run.step(), "- | run wait | free 58");
  EXPECT_EQ(run.step(), "- | run wait | free 59");  // The slot past its end is free again.
}

TEST(SglangScheduler, KeepsTheTokenPastTheEndInNewerVersions) {
  for (const bool newer : {false, true}) {
    Options options = tiny_sglang(newer ? "main" : "0.5.5");
    options.overlap = true;
    SglangRun run(options);
    run.add({.id = 0, .prompt = 4, .max_tokens = 2});
    for (int i = 0; i < 5; ++i) {
      static_cast<void>(run.step());
    }
    EXPECT_EQ(run.scheduler.evictable(), newer ? 6 : 5);
    EXPECT_EQ(run.scheduler.free_tokens(), newer ? 58 : 59);
  }
}

TEST(SglangScheduler, MixesDecodesIntoPrefills) {
  Options options = tiny_sglang();
  options.enable_mixed_chunk = true;
  options.chunked_prefill_size = 8;
  SglangRun run(options);
  run.add({.id = 0, .prompt = 4, .max_tokens = 9});
  EXPECT_EQ(run.step(), "extend 0:4 | run wait | free 60");
  run.add({.id = 1, .prompt = 10, .max_tokens = 9});
  EXPECT_EQ(run.step(), "mixed 1:7 0:1 | run wait | free 52");
  EXPECT_EQ(run.step(), "mixed 1:3 0:1 | run wait | free 48");
  EXPECT_EQ(run.step(), "decode 1:1 0:1 | run 1 0 wait | free 46");
}

TEST(SglangScheduler, RefusesWhatItCannotHold) {
  Scheduler scheduler(test::sglang_engine(tiny_sglang()));
  domain::Request request;
  request.id = core::RequestId(0);
  request.max_tokens = core::Tokens(8);
  request.output_tokens = core::Tokens(8);
  request.prompt_tokens = core::Tokens(58);  // A pool of 64: below 64 - 1 - 5.
  EXPECT_EQ(scheduler.add(request), nullptr);
  request.prompt_tokens = core::Tokens(57);
  const auto taken = scheduler.add(request);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->max_output_tokens, 64 - 57 - 1 - 1);  // The pool less a page, and one.
}

TEST(SglangScheduler, GivesBackWhatAnAbortedRequestHolds) {
  SglangRun run(tiny_sglang());
  run.add({.id = 0, .prompt = 10, .max_tokens = 8});
  run.add({.id = 1, .prompt = 4, .max_tokens = 8});
  static_cast<void>(run.step());
  static_cast<void>(run.step());
  EXPECT_NE(run.scheduler.abort(core::RequestId(0)), nullptr);
  EXPECT_EQ(run.scheduler.abort(core::RequestId(0)), nullptr);
  EXPECT_EQ(run.step(), "decode 1:1 | run 1 wait | free 47");
  EXPECT_EQ(run.scheduler.evictable(), 11);  // Its prompt and its first token.
  EXPECT_EQ(run.scheduler.drain().size(), 1U);
  EXPECT_EQ(run.scheduler.private_tokens(), 0);
  EXPECT_EQ(run.scheduler.protected_size(), 0);
}

}  // namespace
}  // namespace ridgeline::engine::sglang

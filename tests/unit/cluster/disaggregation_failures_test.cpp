#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/disaggregation/registry.hpp"
#include "cluster/faults/fault.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "prefill_apart.hpp"

namespace ridgeline::cluster {
namespace {

TEST_F(PrefillApart, KvThatWaitsTooLongIsLost) {
  transfer_.lease = Duration::microseconds(10'000);
  // The decode instance has no blocks for the second until the first has ended.
  options_.num_gpu_blocks = core::Blocks(33);
  for (const LoadFailure failure : {LoadFailure::kFail, LoadFailure::kRecompute}) {
    transfer_.failure = failure;
    sink_ = {};
    run({sent(0, 0, 320, 60), sent(1, 0, 200, 3)});
    ASSERT_EQ(sink_.requests.size(), 2U);
    EXPECT_EQ(totals_.failed, 1);
    EXPECT_EQ(totals_.count, 1);
    EXPECT_EQ(record(1).outcome,
              failure == LoadFailure::kFail ? Outcome::kFailed : Outcome::kFinished);
    EXPECT_EQ(state_.used_blocks, core::Blocks(0));
  }
}

/// The request of TheInstantsOfARequestAreThoseOfItsParts: prefill until 1,420 us, transfer from
/// 1,770 to 3,770, first token at 4,780.
TEST_F(PrefillApart, APrefillInstanceThatDiesLosesThePromptThatItComputes) {
  crash(0, 1'000);
  run({sent(0, 0)});
  EXPECT_EQ(record(0).outcome, Outcome::kFailed);
  EXPECT_EQ(record(0).failed, micros(1'000));
  EXPECT_EQ(operations_.faults[0].failed_requests, 1);
  EXPECT_EQ(operations_.wasted_tokens, core::Tokens(32));
  // The gateway hears of it after 50 us, waits 1,000 and begins anew: the instance is back.
  retries_ = 1;
  sink_ = {};
  run({sent(0, 0)});
  EXPECT_EQ(record(0).first_token, micros(1'000 + 50 + 1'000 + 4'780));
  EXPECT_EQ(record(0).attempts, 2);
  EXPECT_EQ(totals_.failed, 0);
}

TEST_F(PrefillApart, APrefillInstanceThatDiesTakesWhatItSendsWithIt) {
  crash(0, 2'500);
  run({sent(0, 0)});
  EXPECT_EQ(record(0).outcome, Outcome::kFailed);
  EXPECT_EQ(record(0).failed, micros(2'500) + Duration::ticks(1));
  EXPECT_EQ(totals_.failed, 1);
  EXPECT_EQ(totals_.failed_by_crash, 1);
  EXPECT_EQ(totals_.recomputed, 0);
  EXPECT_EQ(totals_.count, 0);
  // The decode instance computes the 32 tokens itself: 1,000 us and 10 for each.
  transfer_.failure = LoadFailure::kRecompute;
  sink_ = {};
  run({sent(0, 0)});
  EXPECT_EQ(record(0).first_token, micros(2'500 + 1'320) + Duration::ticks(1));
  EXPECT_EQ(totals_.failed_by_crash, 1);
  EXPECT_EQ(totals_.recomputed, 1);
  EXPECT_EQ(state_.used_blocks, core::Blocks(0));
  // Once all has been read, the death changes nothing.
  crash(0, 3'771);
  sink_ = {};
  run({sent(0, 0)});
  EXPECT_EQ(record(0).first_token, micros(4'780));
  EXPECT_EQ(totals_.failed, 0);
}

/// What was computed for a decode instance that dies stays until its lease ends.
TEST_F(PrefillApart, TheLeaseGivesBackWhatADeadDecodeInstanceDidNotRead) {
  transfer_.lease = Duration::microseconds(8'000);
  options_.num_gpu_blocks = core::Blocks(33);  // 32 to use, 20 of them for each prompt.
  crash(1, 10'000);
  run({sent(0, 0, 320), sent(1, 5'000, 320)});
  EXPECT_EQ(record(0).outcome, Outcome::kFailed);
  EXPECT_EQ(totals_.decode_lost, 1);
  EXPECT_EQ(operations_.wasted_tokens, core::Tokens(320));
  // The prefill of the first ended at 100 + 1,000 + 3,200.
  EXPECT_EQ(record(1).first_scheduled, micros(4'300 + 8'000));
  EXPECT_EQ(record(1).outcome, Outcome::kFinished);
  // Where the lease had ended while it was read, they are free at once.
  transfer_.lease = Duration::microseconds(1'000);
  sink_ = {};
  run({sent(0, 0, 320), sent(1, 5'000, 320)});
  EXPECT_EQ(record(1).first_scheduled, micros(10'000) + Duration::ticks(1));
}

TEST_F(PrefillApart, WhatTheClientHasATokenOfIsNotSentAgain) {
  crash(1, 2'500);
  retries_ = 3;
  run({sent(0, 0)});
  EXPECT_EQ(record(0).attempts, 2);
  EXPECT_EQ(record(0).outcome, Outcome::kFinished);
  first_token_ = FirstToken::kPrefill;
  sink_ = {};
  run({sent(0, 0)});
  EXPECT_EQ(record(0).attempts, 1);
  EXPECT_EQ(record(0).outcome, Outcome::kFailed);
  EXPECT_EQ(record(0).output_tokens, core::Tokens(1));
}

/// A prefill instance that hangs is read all the same: no step of it is needed.
TEST_F(PrefillApart, APrefillInstanceThatHangsIsRead) {
  faults_ = {{.fault = {.kind = faults::FaultKind::kHang,
                        .at = micros(1'500),
                        .instance = core::InstanceId(0),
                        .lasts = Duration::microseconds(10'000)}}};
  run({sent(0, 0), sent(1, 2'000)});
  EXPECT_EQ(record(0).first_token, micros(4'780));
  EXPECT_EQ(record(1).first_scheduled, micros(11'500));
}

TEST_F(PrefillApart, OverALinkThatIsDownTransfersStandStill) {
  // 2,000 us over the link from 1,770 on: half, then 5,000 us nothing, then the rest at the least
  // rate that there is, which is the whole one.
  faults_ = {{.fault = {.kind = faults::FaultKind::kLinkDown,
                        .at = micros(2'770),
                        .host = 0,
                        .lasts = Duration::microseconds(5'000)}},
             {.fault = {.kind = faults::FaultKind::kLinkDegraded,
                        .at = micros(7'770),
                        .host = 1,
                        .factor_thousandths = 500}}};
  run({sent(0, 0)});
  EXPECT_EQ(record(0).first_token, micros(1'770 + 7'000 + 1'010));
  EXPECT_EQ(totals_.transfer, Duration::microseconds(7'000));
  EXPECT_EQ(totals_.waited, Duration::microseconds(5'000));
  EXPECT_EQ(operations_.faults.front().over, micros(7'770));
  EXPECT_EQ(operations_.faults.back().over, SimTime::never());
}

TEST_F(PrefillApart, OverADegradedLinkTransfersTakeLonger) {
  transfer_.topology.network_card = 2'000'000;  // 500 us a block.
  faults_ = {{.fault = {.kind = faults::FaultKind::kLinkDegraded,
                        .at = micros(2'270),
                        .host = 1,
                        .lasts = Duration::microseconds(600),
                        .factor_thousandths = 500}}};
  run({sent(0, 0)});  // 1,000 us from 1,770 on: 500, 600 at half the rate, 200.
  EXPECT_EQ(totals_.transfer, Duration::microseconds(1'300));
}

}  // namespace
}  // namespace ridgeline::cluster

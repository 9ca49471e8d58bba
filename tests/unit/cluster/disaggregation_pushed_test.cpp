#include <cstdint>

#include <gtest/gtest.h>

#include "cluster/disaggregation/registry.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/profiles.hpp"
#include "prefill_apart.hpp"

namespace ridgeline::cluster {
namespace {

/// SGLang's order: the decode instance is asked at once, and the prompt is computed once that has
/// blocks.
TEST_F(PrefillApart, PushedKvLeavesWithThePrefillForBlocksThatWait) {
  transfer_.mode = disaggregation::TransferMode::kPush;
  transfer_.per_block = Duration::microseconds(7);
  run({sent(0, 0)});
  // 100 to the decode instance, which is idle, 200 of set-up, 1,320 of 32 tokens, two descriptors,
  // two blocks of 1,000 us, and a step of one token.
  EXPECT_EQ(record(0).queued, micros(300));
  EXPECT_EQ(record(0).first_scheduled, micros(300));
  EXPECT_EQ(record(0).first_token, micros(300 + 1'320 + 14 + 2'000 + 1'010));
  EXPECT_EQ(record(0).instance, core::InstanceId(1));
  EXPECT_EQ(totals_.hand_over, Duration());
  EXPECT_EQ(totals_.setup, Duration::microseconds(214));
  EXPECT_EQ(totals_.transfer, Duration::microseconds(2'000));
  EXPECT_EQ(totals_.bytes, 2'000);
  EXPECT_EQ(parts(), record(0).first_token - record(0).arrival);
}

/// No prompt is computed for which the decode instance has no room.
TEST_F(PrefillApart, PushedKvWaitsForTheDecodeInstancesBlocks) {
  transfer_.mode = disaggregation::TransferMode::kPush;
  options_.num_gpu_blocks = core::Blocks(33);
  run({sent(0, 0, 320, 60), sent(1, 0, 200, 3)});
  EXPECT_EQ(record(1).first_scheduled, record(0).last_token + Duration::microseconds(200));
  EXPECT_EQ(totals_.count, 2);
  EXPECT_EQ(state_.used_blocks, core::Blocks(0));
}

/// Four layers. The step of 32 tokens runs from 300 to 1,620 us: from 630 on three quarters of the
/// two blocks move, and the last layer's when it has ended.
TEST_F(PrefillApart, LayersMoveWhileOthersAreComputed) {
  transfer_.mode = disaggregation::TransferMode::kLayerWise;
  transfer_.layers = 4;
  run({sent(0, 0)});
  // The link is the slower one: it is busy all the time.
  EXPECT_EQ(record(0).first_token, micros(300 + 330 + 2'000 + 1'010));
  EXPECT_EQ(totals_.transfer, Duration::microseconds(1'010) - Duration::ticks(1));
  EXPECT_EQ(totals_.busy, Duration::microseconds(2'000));
  EXPECT_EQ(totals_.bytes, 2'000);
  EXPECT_EQ(totals_.count, 1);
  EXPECT_EQ(parts(), record(0).first_token - record(0).arrival);
  // A link that is faster than the step: the last layer alone is left.
  transfer_.topology.network_card = 10'000'000;
  sink_ = {};
  run({sent(0, 0)});
  EXPECT_EQ(record(0).first_token, micros(300 + 1'320 + 50 + 1'010) + Duration::ticks(1));
  EXPECT_EQ(totals_.busy, Duration::microseconds(200));
}

/// Two chunks: what the first one computed moves while the second is computed.
TEST_F(PrefillApart, LayersOfEveryChunkMove) {
  transfer_.mode = disaggregation::TransferMode::kLayerWise;
  transfer_.layers = 2;
  transfer_.topology.network_card = 1'000'000'000;
  options_.max_num_batched_tokens = core::Tokens(256);
  run({sent(0, 0, 512)});
  // 3,560 us a chunk. The second one's 16 blocks of one layer take 8 us.
  EXPECT_EQ(record(0).first_token, micros(300 + 2 * 3'560 + 8 + 1'010) + Duration::ticks(1));
  EXPECT_EQ(totals_.bytes, 32'000);
}

/// The prompt is computed from 300 to 1,620 us, and its KV is there by 3,620. Until the first token
/// the request may be sent again.
TEST_F(PrefillApart, OfPushedRequestsEitherInstanceMayDieAtAnyTime) {
  for (const auto mode :
       {disaggregation::TransferMode::kPush, disaggregation::TransferMode::kLayerWise}) {
    transfer_.mode = mode;
    transfer_.layers = 4;
    retries_ = 1;
    for (const std::uint32_t instance : {0U, 1U}) {
      for (std::int64_t at = 50; at < 3'600; at += 150) {
        crash(instance, at);
        sink_ = {};
        run({sent(0, 0), sent(1, 9'000)});
        ASSERT_EQ(sink_.requests.size(), 2U) << at;
        EXPECT_EQ(record(0).outcome, Outcome::kFinished) << at;
        EXPECT_EQ(record(1).outcome, Outcome::kFinished) << at;
        EXPECT_EQ(state_.used_blocks, core::Blocks(0)) << at;
      }
    }
  }
}

TEST_F(PrefillApart, AnAbortOfAPushedRequestLeavesNothingBehind) {
  options_.profile = *engine::find_profile("0.28");
  ASSERT_TRUE(options_.profile.remote_abort_waits_for_load);
  for (const auto mode :
       {disaggregation::TransferMode::kPush, disaggregation::TransferMode::kLayerWise}) {
    transfer_.mode = mode;
    transfer_.layers = 4;
    for (std::int64_t at = 50; at < 8'000; at += 150) {
      sink_ = {};
      run({sent(0, 0), sent(1, 9'000)}, {{.at = micros(at), .id = core::RequestId(0)}});
      ASSERT_EQ(sink_.requests.size(), 2U) << at;
      EXPECT_EQ(record(1).outcome, Outcome::kFinished) << at;
      EXPECT_EQ(state_.used_blocks, core::Blocks(0)) << at;
    }
  }
}

/// Three quarters of the KV move from 630 to 1,701 us, the prompt is computed at 1,620, and the
/// last layer's descriptors are written at 2,120. Whenever the request goes, the prefill instance
/// has no block left (which is checked at the end of every run).
TEST_F(PrefillApart, AnAbortBetweenTheLayersLeavesNothingBehind) {
  transfer_.mode = disaggregation::TransferMode::kLayerWise;
  transfer_.layers = 4;
  transfer_.per_block = Duration::microseconds(1'000);
  transfer_.topology.network_card = 1'400'000;
  for (std::int64_t at = 1'500; at < 2'300; at += 20) {
    sink_ = {};
    run({sent(0, 0), sent(1, 9'000)}, {{.at = micros(at), .id = core::RequestId(0)}});
    ASSERT_EQ(sink_.requests.size(), 2U) << at;
    EXPECT_EQ(record(1).outcome, Outcome::kFinished) << at;
    EXPECT_EQ(state_.used_blocks, core::Blocks(0)) << at;
  }
}

}  // namespace
}  // namespace ridgeline::cluster

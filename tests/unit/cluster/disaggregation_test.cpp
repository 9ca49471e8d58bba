#include "cluster/disaggregation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/operations.hpp"
#include "core/ids.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "prefill_apart.hpp"
#include "support/disaggregated.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/queueing.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

/// Every part of the time to first token, by hand.
TEST_F(PrefillApart, TheInstantsOfARequestAreThoseOfItsParts) {
  run({sent(0, 0)});
  ASSERT_EQ(sink_.requests.size(), 1U);
  // 100 to the prefill instance, 1,320 of 32 tokens, 50 and 100 to the decode instance, which is
  // idle, 200 of set-up, two blocks of 1,000 us, and a step of one token: 1,010.
  EXPECT_EQ(record(0).queued, micros(100));
  EXPECT_EQ(record(0).first_scheduled, micros(100));
  EXPECT_EQ(record(0).first_token, micros(100 + 1'320 + 150 + 200 + 2'000 + 1'010));
  EXPECT_EQ(record(0).last_token, record(0).first_token + Duration::microseconds(2'020));
  EXPECT_EQ(record(0).output_tokens, core::Tokens(3));
  EXPECT_EQ(record(0).instance, core::InstanceId(1));
  EXPECT_EQ(totals_.prefill, Duration::microseconds(1'320));
  EXPECT_EQ(totals_.transfer, Duration::microseconds(2'000));
  EXPECT_EQ(parts(), record(0).first_token - record(0).arrival);
  EXPECT_EQ(totals_.count, 1);
  EXPECT_EQ(totals_.bytes, 2'000);
  EXPECT_EQ(totals_.waited, Duration());
}

/// inference-sim starts the transfer when the last step of the prefill begins (blis.md, W1).
TEST_F(PrefillApart, W1NoKvMovesBeforeTheStepThatComputedItHasEnded) {
  run({sent(0, 0, 512)});
  const SimTime prefill_end = micros(100 + 1'000 + 5'120);
  EXPECT_EQ(record(0).first_token - Duration::microseconds(1'010 + 32'000 + 200 + 150),
            prefill_end);
}

TEST_F(PrefillApart, ThePrefillsFirstTokenMayBeTheClients) {
  first_token_ = FirstToken::kPrefill;
  run({sent(1, 0, 32, 1), sent(0, 100'000)});
  EXPECT_EQ(record(0).first_token, micros(101'420));
  EXPECT_EQ(record(0).output_tokens, core::Tokens(3));
  EXPECT_EQ(record(0).prompt_tokens, core::Tokens(32));
  // From the first token to the second: hand-over, transfer, a step; then a step of one token.
  EXPECT_EQ(record(0).last_token, micros(101'420 + 150 + 200 + 2'000 + 1'010 + 1'010));
  EXPECT_EQ(sink_.gaps.size(), 2U);
  EXPECT_EQ(sink_.gaps.at(Duration::microseconds(150 + 200 + 2'000 + 1'010).count()), 1);
  // One token is all: nothing is sent.
  EXPECT_EQ(record(1).outcome, Outcome::kFinished);
  EXPECT_EQ(record(1).first_token, record(1).last_token);
  EXPECT_EQ(totals_.count, 1);
  EXPECT_EQ(state_.used_blocks, core::Blocks(0));
}

TEST_F(PrefillApart, PrefillFirstChoosesTheDecodeInstanceLater) {
  order_ = LegOrder::kPrefillFirst;
  run({sent(0, 0)});
  EXPECT_EQ(record(0).first_token, micros(100 + 1'320 + 150 + 200 + 2'000 + 1'010));
}

/// The prefill instance holds 64 blocks: three prompts of 20 blocks. The fourth waits until blocks
/// have been read.
TEST_F(PrefillApart, BlocksOfAPromptStayUntilTheyWereRead) {
  run({sent(0, 0, 320), sent(1, 0, 320), sent(2, 0, 320), sent(3, 0, 320)});
  EXPECT_EQ(sink_.requests.size(), 4U);
  // The first transfer takes 20 ms alone; with others more.
  EXPECT_GT(record(3).first_scheduled, micros(20'000));
  EXPECT_EQ(totals_.count, 4);
  EXPECT_GT(totals_.waited, Duration());
  EXPECT_EQ(state_.used_blocks, core::Blocks(0));
}

TEST_F(PrefillApart, AnAbortAtAnyTimeLeavesNothingBehind) {
  for (std::int64_t at = 50; at < 8'000; at += 150) {
    sink_ = {};
    run({sent(0, 0), sent(1, 9'000)}, {{.at = micros(at), .id = core::RequestId(0)}});
    ASSERT_EQ(sink_.requests.size(), 2U) << at;
    EXPECT_EQ(record(0).outcome, at <= 6'800 ? Outcome::kAborted : Outcome::kFinished) << at;
    EXPECT_EQ(record(1).outcome, Outcome::kFinished);
    EXPECT_EQ(state_.used_blocks, core::Blocks(0)) << at;
  }
}

/// An engine that keeps the blocks of an aborted load until the load has ended.
TEST_F(PrefillApart, ALoadThatNeverStartsGivesItsBlocksBack) {
  options_.profile = *engine::find_profile("0.28");
  ASSERT_TRUE(options_.profile.remote_abort_waits_for_load);
  transfer_.setup = Duration::microseconds(3'000);
  for (std::int64_t at = 50; at < 12'000; at += 150) {
    sink_ = {};
    run({sent(0, 0), sent(1, 15'000)}, {{.at = micros(at), .id = core::RequestId(0)}});
    EXPECT_EQ(record(1).outcome, Outcome::kFinished);
    EXPECT_EQ(state_.used_blocks, core::Blocks(0)) << at;
  }
  transfer_.lease = Duration::microseconds(10'000);
  options_.num_gpu_blocks = core::Blocks(33);
  sink_ = {};
  run({sent(0, 0, 320, 60), sent(1, 0, 200, 3)});
  EXPECT_EQ(record(1).outcome, Outcome::kFailed);
  EXPECT_EQ(state_.used_blocks, core::Blocks(0));
}

/// Prompts take 100 us a token, every other step 20 ms: two stages whose times are independent.
class TwoStages final : public latency::StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    domain::StepTime time;
    const bool is_prompt = !batch.prefills.empty() && batch.prefills.front().past.value() == 0;
    time.add(domain::Bottleneck::kCompute,
             is_prompt ? Duration::microseconds(100) * batch.prefills.front().new_tokens.value()
                       : Duration::milliseconds(20));
    return time;
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    latency::Explanation explanation;
    explanation.total = predict(batch);
    return explanation;
  }
};

/// Poisson requests through an exponential prefill and a geometric decode of 50 steps in the mean,
/// with a link that takes no time: a tandem of M/M/1 and, since departures are Poisson (Burke
/// 1956), M/G/1 (Pollaczek-Khinchine). With exponential stages the sum of 1 / (mu - lambda).
TEST(Tandem, PrefillAndDecodeAreTwoQueuesOneAfterTheOther) {
  constexpr double kMeanTokens = 10'000.0;
  constexpr double kMeanSteps = 50.0;
  const char* drawn = std::getenv("RIDGELINE_CLOSED_FORMS_SEED");
  const std::int64_t requests = drawn == nullptr ? 20'000 : 1'000'000;
  const std::uint64_t seed = drawn == nullptr ? 1 : std::strtoull(drawn, nullptr, 10);
  for (const double load : {0.5, 0.8}) {
    engine::EngineOptions options;
    options.max_num_seqs = 1;
    options.max_num_batched_tokens = core::Tokens(1 << 18);
    options.max_model_len = core::Tokens(1 << 18);
    options.block_size = core::Tokens(1 << 10);
    options.num_gpu_blocks = core::Blocks(1 << 20);
    options.enable_prefix_caching = false;
    options.async_scheduling = false;
    options.kv_transfer = true;
    const TwoStages model;
    const engine::HostTime host;
    const engine::RequestPath path;
    test::BatchMeans sink(requests);
    const auto part = std::make_shared<Disaggregation*>();
    std::vector<PartMaker> parts;
    parts.push_back(test::disaggregation_part(
        {.prefill_instances = 1,
         .prefill_router = routing::maker_of("round-robin"),
         .decider = disaggregation::make_always,
         .transfer = {.topology = {.network_card = 1'000'000'000'000'000},
                      .bytes_per_block = 1,
                      // A request waits for its seat with its KV still on the prefill instance.
                      .lease = Duration::seconds(1'000'000)}},
        part));
    Cluster cluster(
        {.instance = {.engine = {.options = options, .model = model, .host = host, .sink = sink},
                      .path = path,
                      .id = {}},
         .num_instances = 2,
         .router = routing::maker_of("round-robin")({}),
         .times = {},
         .parts = std::move(parts)});
    core::RngStream gaps(seed, 0, "gaps");
    core::RngStream lengths(seed, 0, "lengths");
    SimTime now;
    for (std::int64_t i = 0; i < requests; ++i) {
      now += Duration::saturating(core::Seconds(-core::log(gaps.uniform()) / load));
      domain::Request one = sent(static_cast<std::uint32_t>(i), 0);
      one.arrival = now;
      one.prompt_tokens = core::Tokens(
          1 + static_cast<std::int64_t>(-core::log(lengths.uniform()) * kMeanTokens - 0.5));
      one.output_tokens =
          core::Tokens(1 + static_cast<std::int64_t>(core::log(lengths.uniform()) /
                                                     core::log(1.0 - 1.0 / kMeanSteps)));
      one.max_tokens = one.output_tokens;
      cluster.submit(one);
      if (i % 64 == 0) {
        cluster.advance(now, false, test::kNoBudget);
      }
    }
    cluster.advance(SimTime::never(), false, test::kNoBudget);
    const double first = 1.0 / (1.0 - load);
    const double variation = 1.0 - 1.0 / kMeanSteps;  // Squared, of geometric steps.
    const double second = 1.0 + load * (1.0 + variation) / (2.0 * (1.0 - load));
    const test::Estimate found = sink.result().sojourn;
    EXPECT_LT(std::abs(found.mean - first - second), 3.0 * found.deviation)
        << found.mean << " +- " << found.deviation << ", expected " << first + second;
    // A prompt of one token leaves nothing to send.
    EXPECT_GT((*part)->totals().count, requests * 99 / 100);
  }
}

}  // namespace
}  // namespace ridgeline::cluster

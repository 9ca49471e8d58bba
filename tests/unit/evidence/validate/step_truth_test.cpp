#include "evidence/validate/step_truth.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"

namespace ridgeline::evidence::validate {
namespace {

StepTruth steps_in(const std::string& text) {
  const std::string path =
      ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream(path) << text;
  return read_step_truth(path, 500).value().value_or(StepTruth{});
}

TEST(StepTruth, OurOwnLog) {
  const StepTruth truth = steps_in(
      R"({"step":0,"steps":1,"num_decodes":2,"decode_context":300,"prefills":[[16,64]],"busy_us":900})"
      "\n"
      R"({"step":1,"steps":4,"num_decodes":2,"decode_context":300,"prefills":[],"busy_us":4000})");
  EXPECT_EQ(truth.form, "ridgeline");
  EXPECT_FALSE(truth.with_host);
  ASSERT_EQ(truth.steps.size(), 2U);
  EXPECT_STREQ(truth.steps[0].phase(), "mixed");
  EXPECT_EQ(truth.steps[0].prefills[0].past, core::Tokens(16));
  EXPECT_EQ(truth.steps[1].us, 1000.0);
  EXPECT_EQ(truth.steps[1].decode_context, core::Tokens(303));
}

TEST(StepTruth, IterationDetailsOfVllm) {
  const StepTruth truth = steps_in(
      "INFO 01-20 06:11:13 [core.py:381] Iteration(7): 2 context requests, 101 context tokens, "
      "3 generation requests, 3 generation tokens, iteration elapsed time: 12.50 ms\n"
      "INFO another line\n");
  EXPECT_EQ(truth.form, "vllm-iterations");
  ASSERT_EQ(truth.steps.size(), 1U);
  const MeasuredStep& step = truth.steps[0];
  EXPECT_EQ(step.us, 12500.0);
  EXPECT_EQ(step.decode_context, core::Tokens(1500));
  ASSERT_EQ(step.prefills.size(), 2U);
  EXPECT_EQ(step.prefills[0].new_tokens, core::Tokens(51));
  EXPECT_THAT(truth.assumed,
              ::testing::ElementsAre(::testing::HasSubstr("500 tokens before each")));
}

TEST(StepTruth, ForwardPassMetrics) {
  const StepTruth truth = steps_in(
      R"({"wall_time":0.02,"scheduled_requests":{"num_prefill_requests":1,"sum_prefill_tokens":256,)"
      R"("sum_prefill_kv_tokens":512,"num_decode_requests":4,"sum_decode_kv_tokens":4000}})"
      "\n"
      R"({"event":{"wall_time":0.01,"scheduled_requests":{"num_decode_requests":4,)"
      R"("sum_decode_kv_tokens":4004}}})"
      "\n"
      R"({"wall_time":0,"scheduled_requests":{"num_decode_requests":0}})");
  EXPECT_EQ(truth.form, "forward-pass-metrics");
  ASSERT_EQ(truth.steps.size(), 2U);
  EXPECT_EQ(truth.steps[0].us, 20000.0);
  EXPECT_EQ(truth.steps[0].prefills[0].past, core::Tokens(512));
  EXPECT_EQ(truth.steps[1].decode_context, core::Tokens(4004));
  EXPECT_THAT(truth.left_out, ::testing::IsEmpty());
}

TEST(StepTruth, DecodeBatchesOfSglang) {
  const StepTruth truth = steps_in(
      "[2026] Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 0, #running-req: 0\n"
      "[2026] Decode batch. #running-req: 8, #token: 4000, token usage: 0.01, gen throughput "
      "(token/s): 100.0, #queue-req: 0\n"
      "[2026] Decode batch. #running-req: 8, #token: 4320, token usage: 0.01, gen throughput "
      "(token/s): 800.0, #queue-req: 0\n");
  EXPECT_EQ(truth.form, "sglang");
  ASSERT_EQ(truth.steps.size(), 1U);  // the first interval holds a prefill
  EXPECT_EQ(truth.steps[0].us, 10000.0);
  EXPECT_EQ(truth.steps[0].decode_context, core::Tokens(4320));
  EXPECT_THAT(truth.left_out, ::testing::ElementsAre(::testing::HasSubstr("1 lines of prefill")));
}

TEST(StepTruth, OtherFilesHaveNoSteps) {
  EXPECT_TRUE(steps_in("{\"id\": \"one\"}\nnonsense\n").steps.empty());
  EXPECT_TRUE(steps_in(R"({"num_decodes":1,"busy_us":0,"decode_context":9})").steps.empty());
}

TEST(StepTruth, ABatchHasItsDecodesContextsEvenly) {
  MeasuredStep step{.line = 1, .us = 1.0, .num_decodes = 3, .decode_context = core::Tokens(10)};
  std::vector<core::Tokens> lengths;
  const auto batch = step.batch(lengths);
  EXPECT_EQ(batch.decode_context, core::Tokens(10));
  EXPECT_THAT(lengths, ::testing::ElementsAre(core::Tokens(4), core::Tokens(3), core::Tokens(3)));
}

}  // namespace
}  // namespace ridgeline::evidence::validate

// Read as any file is: by what it holds.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
#include "sim/validate/benchmark_results.hpp"
#include "sim/validate/evidence.hpp"
#include "unit/sim/validate/result_text.hpp"

namespace ridgeline::sim::validate {
namespace {

TEST(ReadVllmBench, VllmBenchInDetail) {
  const auto all = read_result(R"({"date": "d", "model_id": "m", "completed": 2,
    "request_rate": 4.0, "total_input_tokens": 300, "total_output_tokens": 30,
    "request_throughput": 3.9, "output_throughput": 60.0,
    "mean_ttft_ms": 20.0, "median_ttft_ms": 19.0, "p99_ttft_ms": 30.0, "mean_tpot_ms": 0.0,
    "input_lens": [100, 200], "output_lens": [10, 20], "start_times": [5.5, 5.0]})",
                               ResultKind::kVllmBench);
  ASSERT_EQ(all.size(), 1U);
  const Evidence& evidence = all.front();
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.model, "m");
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kP50), 19.0);
  EXPECT_FALSE(evidence.measured.at(Figure::kTpot, Level::kMean).has_value());
  ASSERT_EQ(evidence.stages.size(), 1U);
  EXPECT_EQ(evidence.stages[0].kind, StageLoad::Kind::kRecorded);
  ASSERT_EQ(evidence.stages[0].rows.size(), 2U);
  EXPECT_DOUBLE_EQ(evidence.stages[0].rows[1].arrival_s, 0.5);
  EXPECT_EQ(evidence.stages[0].rows[1].input_tokens, 100);
}

// A failed request keeps start 0 beside a clock that has run for 116 days; one start is off by 1e7
// s.
TEST(ReadVllmBench, OddStartsOfVllmBenchAreNamed) {
  const auto all = read_result(R"({"completed": 3, "request_rate": 4.0, "mean_ttft_ms": 20.0,
    "total_input_tokens": 300, "total_output_tokens": 30,
    "input_lens": [100, 100, 100, 100], "output_lens": [10, 0, 10, 10],
    "start_times": [1e7, 0, 1e7, 2e7]})",
                               ResultKind::kVllmBench);
  ASSERT_EQ(all[0].problem, "");
  ASSERT_EQ(all[0].stages[0].rows.size(), 2U);
  EXPECT_EQ(all[0].stages[0].rows[1].arrival_s, 0.0);
  ASSERT_EQ(all[0].left_out.size(), 1U);
  EXPECT_THAT(all[0].left_out[0], ::testing::HasSubstr("1 of 3 requests: start_times[3]"));
}

TEST(ReadVllmBench, TheFileSaysTheSampling) {
  const std::string rest = R"("completed": 1, "request_rate": 4.0, "mean_ttft_ms": 20.0,
    "total_input_tokens": 300, "total_output_tokens": 30})";
  EXPECT_EQ(read_result(R"({"generation_config": "auto", )" + rest, ResultKind::kVllmBench)
                .front()
                .generation_config,
            "auto");
  EXPECT_FALSE(
      read_result("{" + rest, ResultKind::kVllmBench).front().generation_config.has_value());
}

TEST(ReadVllmBench, VllmBenchWithSoManyClientsOrAtOnce) {
  const auto closed = read_result(R"({"completed": 40, "request_rate": "inf", "max_concurrency": 4,
    "total_input_tokens": 4000, "total_output_tokens": 400, "mean_ttft_ms": 1})",
                                  ResultKind::kVllmBench);
  EXPECT_EQ(closed[0].stages[0].kind, StageLoad::Kind::kClosed);
  EXPECT_EQ(closed[0].stages[0].concurrency, 4);
  EXPECT_DOUBLE_EQ(closed[0].input.mean, 100.0);
  const auto burst = read_result(R"({"completed": 40, "request_rate": "inf",
    "total_input_tokens": 4000, "total_output_tokens": 400, "mean_ttft_ms": 1})",
                                 ResultKind::kVllmBench);
  EXPECT_EQ(burst[0].stages[0].kind, StageLoad::Kind::kAtOnce);
}

}  // namespace
}  // namespace ridgeline::sim::validate

#include "sim/validate/benchmark_results.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
#include "sim/validate/evidence.hpp"

namespace ridgeline::sim::validate {
namespace {

std::vector<Evidence> read_result(const std::string& text, ResultKind expected) {
  const auto document = core::parse_json(text, "own.json").value();
  EXPECT_EQ(kind_of_result(document), expected);
  return read_benchmark_result(document, expected);
}

TEST(BenchmarkResults, VllmBenchInDetail) {
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

TEST(BenchmarkResults, VllmBenchWithSoManyClientsOrAtOnce) {
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

TEST(BenchmarkResults, GuidellmSweep) {
  const std::string metrics = R"("metrics": {"request_totals": {"successful": 6},
    "prompt_token_count": {"successful": {"mean": 50}},
    "output_token_count": {"successful": {"mean": 5}},
    "request_latency": {"successful": {"mean": 1.5, "percentiles": {"p90": 2.0}}}})";
  const auto all = read_result(
      R"({"benchmarks": [{"config": {"strategy": {"type_": "synchronous"}}, )" + metrics +
          R"(}, {"config": {"strategy": {"type_": "constant", "rate": 2}}, )" + metrics +
          R"(}, {"config": {"strategy": {"type_": "throughput"}}, )" + metrics + "}, {}]}",
      ResultKind::kGuidellm);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].stages[0].concurrency, 1);
  EXPECT_EQ(all[0].measured.at(Figure::kE2e, Level::kMean), 1500.0);
  EXPECT_EQ(all[0].measured.at(Figure::kE2e, Level::kP90), 2000.0);
  EXPECT_EQ(all[1].stages[0].kind, StageLoad::Kind::kEven);
  EXPECT_DOUBLE_EQ(all[1].stages[0].duration_s, 3.0);  // 6 requests at 2 a second
  EXPECT_FALSE(all[2].flags.empty());
  EXPECT_THAT(all[3].problem, testing::HasSubstr("metrics is missing"));
}

TEST(BenchmarkResults, InferencePerfStage) {
  const auto all = read_result(R"({"load_summary": {"send_duration": 10, "requested_rate": 2},
    "successes": {"count": 20, "latency": {"time_to_first_token": {"mean": 0.02, "p99": 0.1}},
      "throughput": {"requests_per_sec": 1.9}, "prompt_len": {"mean": 64},
      "output_len": {"mean": 8}}})",
                               ResultKind::kInferencePerf);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_EQ(all[0].measured.at(Figure::kTtft, Level::kP99), 100.0);
  EXPECT_EQ(all[0].stages[0].requests, 20);
  EXPECT_EQ(all[0].offered_per_s, 2.0);
}

TEST(BenchmarkResults, EvaluatorSweeps) {
  const auto all = read_result(R"({"experiments": [
    {"model": "m", "gpu": "H100", "vllm_config": {"tensor_parallel_size": 2, "max_num_seqs": 64},
     "workload_config": {"input_len": 100, "output_len": 10}, "total_kv_blocks": 900,
     "qps_sweeps": [{"qps": 2, "ttft_mean_ms": 20, "e2e_p90_ms": 300}, {"ttft_mean_ms": 20}]},
    {"model": "n"}]})",
                               ResultKind::kEvaluator);
  ASSERT_EQ(all.size(), 3U);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_EQ(all[0].tensor_parallel, 2);
  EXPECT_EQ(all[0].server.num_gpu_blocks, 900);
  EXPECT_EQ(all[0].measured.at(Figure::kE2e, Level::kP90), 300.0);
  EXPECT_DOUBLE_EQ(all[0].stages[0].duration_s, 500.0);  // 1000 requests at 2 a second
  EXPECT_THAT(all[1].problem, testing::HasSubstr("qps is missing"));
  EXPECT_THAT(all[2].problem, testing::HasSubstr("qps_sweeps is missing"));
}

TEST(BenchmarkResults, OddFilesAreNoCrash) {
  for (const std::string text : {"{}",
                                 "[]",
                                 "7",
                                 R"({"benchmarks": {}})",
                                 R"({"benchmarks": [7, null]})",
                                 R"({"experiments": [7, {"qps_sweeps": [[]]}]})",
                                 R"({"completed": -5, "mean_ttft_ms": 1, "input_lens": ["a"],
                                     "output_lens": [1]})",
                                 R"({"load_summary": 1, "successes": {"count": 1e300}})"}) {
    const auto document = core::parse_json(text, "own.json").value();
    for (const auto& evidence : read_benchmark_result(document, kind_of_result(document))) {
      EXPECT_NE(evidence.problem, "") << text;
    }
  }
}

}  // namespace
}  // namespace ridgeline::sim::validate

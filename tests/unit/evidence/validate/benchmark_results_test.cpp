#include "evidence/validate/benchmark_results.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "unit/evidence/validate/result_text.hpp"

namespace ridgeline::evidence::validate {
namespace {

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
  EXPECT_THAT(all[1].problem, ::testing::HasSubstr("qps is missing"));
  EXPECT_THAT(all[2].problem, ::testing::HasSubstr("qps_sweeps is missing"));
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
    const auto document = document::parse_json(text, "own.json").value();
    for (const auto& evidence :
         read_benchmark_result(document, kind_of_result(document), "own.json")) {
      EXPECT_NE(evidence.problem, "") << text;
    }
  }
}

}  // namespace
}  // namespace ridgeline::evidence::validate

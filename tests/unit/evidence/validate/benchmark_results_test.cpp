#include "evidence/validate/benchmark_results.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

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

#include "scenario/accuracy_question.hpp"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

accuracy::Question question(std::vector<Override> overrides) {
  overrides.push_back({.path = "workload.input_len", .text = "100"});
  overrides.push_back({.path = "workload.output_len", .text = "10"});
  const auto resolved = resolve(load_scenario(std::nullopt, overrides, Purpose::kRun).value());
  return accuracy_question(*resolved.value().deployment,
                           is_closed_loop(resolved.value().workload.section));
}

TEST(AccuracyQuestion, SpeaksOfGpuNetworkFormatLoopAndEngine) {
  EXPECT_THAT(question({{.path = "model", .text = "llama-3.1-8b"},
                        {.path = "gpu", .text = "H100-SXM"},
                        {.path = "workload.request_rate", .text = "2"}}),
              testing::ElementsAre("h100", "dense", "bf16", "open", "vllm", "llama-3.1-8b TP1"));
  EXPECT_THAT(
      question({{.path = "model", .text = "gpt-oss-120b"},
                {.path = "gpu", .text = "h200"},
                {.path = "engine.version", .text = "sglang"},
                {.path = "workload.max_concurrency", .text = "4"}}),
      testing::ElementsAre("h200", "experts", "mxfp4", "closed", "sglang", "gpt-oss-120b TP1"));
}

TEST(WhyBound, AGpuThatNothingWasMeasuredOnIsABound) {
  const auto why = [](const char* gpu) {
    const auto resolved = resolve(load_scenario(std::nullopt,
                                                {{.path = "model", .text = "llama-3.1-8b"},
                                                 {.path = "gpu", .text = gpu},
                                                 {.path = "workload.request_rate", .text = "2"},
                                                 {.path = "workload.input_len", .text = "100"},
                                                 {.path = "workload.output_len", .text = "10"}},
                                                Purpose::kRun)
                                      .value());
    return why_bound(resolved.value());
  };
  EXPECT_EQ(why("h100"), "");
  // No table, but constants of other GPUs: an estimate, if a doubtful one.
  EXPECT_EQ(why("l4"), "");
  EXPECT_EQ(why("mi300x"), "mi300x is priced by its datasheet alone");
  EXPECT_EQ(bound_text(why("mi300x")),
            "a bound, not an estimate: mi300x is priced by its datasheet alone");
  EXPECT_EQ(bound_text(""), "");
}

TEST(AccuracyQuestion, ALoopIsClosedWithoutAPace) {
  WorkloadSection workload;
  workload.request_rate = 4.0;
  workload.max_concurrency = 8;
  EXPECT_FALSE(is_closed_loop(workload));
  workload.request_rate = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(is_closed_loop(workload));
  workload.trace = "a.csv";
  EXPECT_FALSE(is_closed_loop(workload));
}

}  // namespace
}  // namespace ridgeline::scenario

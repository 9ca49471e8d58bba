#include "verbs/run/mean_steps.hpp"

#include <cstddef>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::verbs {
namespace {

using report::figures::number_at;

TEST(MeanSteps, PartsOfAStepAreItsTime) {
  for (const char* const step : {"mean_steps.decode", "mean_steps.prompt"}) {
    const document::Node* const node = at_path(fixtures::a_result(), step);
    ASSERT_NE(node, nullptr);
    double sum = 0.0;
    for (const document::Node& part : node->find("parts")->items()) {
      sum += number_at(part, "us");
    }
    EXPECT_NEAR(sum, number_at(*node, "us"), 0.01) << step;
  }
}

TEST(MeanSteps, BatchesAreTheRunsMeans) {
  const auto& result = fixtures::a_result();
  EXPECT_EQ(number_at(result, "mean_steps.prompt.prompt_tokens"), 512.0);
  const double requests = number_at(result, "mean_steps.decode.requests");
  EXPECT_GE(requests, 1.0);
  // Every request holds its prompt and part of its answer.
  const double each = number_at(result, "mean_steps.decode.context_tokens") / requests;
  EXPECT_GT(each, 300.0);
  EXPECT_LT(each, 800.0);
}

TEST(MeanSteps, ARunOfSingleTokensHasNoDecode) {
  const auto tree = result_tree(fixtures::a_run({{"workload.output_len", "1"}}));
  EXPECT_TRUE(at_path(tree, "mean_steps.decode")->is_null());
  EXPECT_TRUE(at_path(tree, "mean_steps.prompt")->is_map());
}

TEST(GpuMemory, PartsAreWhatIsUsable) {
  const document::Node* const memory = at_path(fixtures::a_result(), "gpu_memory");
  ASSERT_NE(memory, nullptr);
  double sum = 0.0;
  for (const auto& member : memory->members()) {
    if (member.key != "usable_gib") {
      sum += member.value.as_real();
    }
  }
  EXPECT_NEAR(sum, number_at(*memory, "usable_gib"), 1e-6);
  EXPECT_GT(number_at(*memory, "weights_gib"), 14.0);
  for (const char* const engine : {"sglang", "tensorrt-llm"}) {
    const auto tree = result_tree(fixtures::a_run({{"engine.version", engine}}));
    EXPECT_GT(number_at(tree, "gpu_memory.kv_cache_gib"), 1.0) << engine;
    EXPECT_GE(number_at(tree, "gpu_memory.other_gib"), 0.0) << engine;
  }
}

}  // namespace
}  // namespace ridgeline::verbs

#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "scenario/cache_room.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/explain_facts.hpp"
#include "verbs/explain_view.hpp"

namespace ridgeline::verbs {
namespace {

scenario::Resolved small_deployment() {
  auto loaded = scenario::load_scenario(std::nullopt,
                                        {{"model", "llama-3.1-8b"},
                                         {"gpu", "h100"},
                                         {"engine.num_gpu_blocks", "1001"},
                                         {"engine.max_model_len", "1600"},
                                         {"workload.input_len", "100"},
                                         {"workload.output_len", "60"}},
                                        scenario::Purpose::kLook);
  EXPECT_TRUE(loaded);
  return *scenario::resolve(std::move(*loaded));
}

TEST(ExplanationFacts, CountBlocksByHand) {
  const scenario::Resolved resolved = small_deployment();
  const scenario::Deployment& deployment = *resolved.deployment;
  // One block is never given out; 16 tokens each.
  EXPECT_EQ(scenario::held_tokens(deployment), 1000 * 16);
  EXPECT_EQ(scenario::blocks_of_longest(deployment), 100);
  EXPECT_EQ(scenario::requests_of_longest(deployment), 10.0);
  EXPECT_EQ(tokens_of_request(resolved.workload.section)->value(), 160);
  EXPECT_EQ(requests_held(deployment, core::Tokens(160)), 100.0);
}

TEST(ExplanationTree, HoldsWhatTheFactsSay) {
  const document::Node tree = explanation_tree(small_deployment());
  const document::Node& memory = *tree.find("memory");
  EXPECT_EQ(memory.find("kv_tokens")->as_integer(), 16000);
  EXPECT_EQ(memory.find("num_gpu_blocks")->as_integer(), 1001);
  EXPECT_EQ(tree.find("deployment")->as_string(), "llama-3.1-8b on h100");
  EXPECT_EQ(tree.find("engine")->find("max_model_len")->as_integer(), 1600);
}

}  // namespace
}  // namespace ridgeline::verbs

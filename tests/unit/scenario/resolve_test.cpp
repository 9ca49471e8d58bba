#include "scenario/resolve.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "unit/scenario/resolving.hpp"

namespace ridgeline::scenario {
namespace {

core::Result<Resolved> run_of(const std::vector<Override>& overrides) {
  auto loaded = load_scenario(std::nullopt, overrides, Purpose::kLook);
  return loaded ? resolve(std::move(*loaded)) : core::fail(loaded.error());
}

TEST(Resolve, DividesAScenarioIntoDeploymentWorkloadAndRun) {
  const auto resolved = run_of(with("deepseek-v3",
                                    "h200",
                                    {{"engine.tensor_parallel_size", "4"},
                                     {"engine.data_parallel_size", "2"},
                                     {"workload.request_rate", "10"},
                                     {"slo.ttft", "500ms"},
                                     {"percentiles", "sketch"},
                                     {"seed", "7"}}));
  ASSERT_TRUE(resolved) << core::to_string(resolved.error().front());
  EXPECT_EQ(resolved->deployment->execution.sharding.gpus(), 8);
  EXPECT_EQ(resolved->workload.section.num_prompts, 1000);
  EXPECT_EQ(resolved->workload.of_rank().num_prompts, 500);
  EXPECT_EQ(resolved->workload.of_rank().request_rate, 5.0);
  EXPECT_EQ(resolved->workload.seed, 7);
  EXPECT_EQ(resolved->run.slo.ttft, core::Duration::milliseconds(500));
  EXPECT_EQ(resolved->run.percentiles, "sketch");
}

TEST(Resolve, TheScenarioWithWhatWasDerivedGivesItselfAgain) {
  auto once = run_of(with("llama-3.1-8b", "h100", {{"workload.max_concurrency", "4"}}));
  ASSERT_TRUE(once) << core::to_string(once.error().front());
  const Resolved moved = std::move(*once);
  const document::Node written = to_node(moved.scenario());
  auto loaded = read_scenario(written, {}, Purpose::kLook);
  ASSERT_TRUE(loaded) << core::to_string(loaded.error().front());
  const auto again = resolve(std::move(*loaded));
  ASSERT_TRUE(again) << core::to_string(again.error().front());
  EXPECT_EQ(flow_text(to_node(again->scenario())), flow_text(written));
}

TEST(Resolve, MarksWhatWasDerived) {
  const auto resolved = run_of(with(
      "llama-3.1-8b", "h100", {{"workload.request_rate", "8"}, {"engine.max_num_seqs", "64"}}));
  ASSERT_TRUE(resolved) << core::to_string(resolved.error().front());
  const auto origin = [&](const char* path) {
    return provenance_of(resolved->provenance, path).origin;
  };
  using enum Provenance::Origin;
  EXPECT_EQ(origin("engine.max_model_len"), kDerived);
  EXPECT_EQ(origin("engine.num_gpu_blocks"), kDerived);
  EXPECT_EQ(origin("workload.num_prompts"), kDerived);
  EXPECT_EQ(origin("engine.max_num_seqs"), kFlag);
  EXPECT_EQ(origin("engine.block_size"), kDefault);
  EXPECT_EQ(origin("workload.max_concurrency"), kDefault);
}

TEST(Resolve, WarningsOfTheCommandLineStandFirst) {
  auto loaded = load_scenario(
      std::nullopt, with("llama-3.1-8b", "h100", {{"engine.enable_lora", "true"}}), Purpose::kLook);
  ASSERT_TRUE(loaded);
  loaded->warnings = {{.code = "W-said", .message = "", .hint = ""}};
  const auto resolved = resolve(std::move(*loaded));
  ASSERT_TRUE(resolved);
  ASSERT_EQ(resolved->warnings.size(), 2U);
  EXPECT_EQ(resolved->warnings[0].code, "W-said");
  EXPECT_EQ(resolved->warnings[1].code, "W-unpriced-lora");
}

}  // namespace
}  // namespace ridgeline::scenario

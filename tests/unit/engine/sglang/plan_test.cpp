// How SGLang fills its defaults and divides a GPU's memory.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/settings.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine::sglang {
namespace {

using document::NamedValue;
using document::Node;

core::Result<EnginePlan> planned(const std::string& gpu,
                                 const std::vector<NamedValue>& stated = {},
                                 std::int64_t ranks = 1,
                                 const std::string& network = "llama-3.1-8b") {
  const auto spec = model::find_model(network);
  const auto board = hardware::find_gpu(gpu);
  return plan({.network = *spec,
               .gpu = *board,
               .sharding = {.tensor_parallel_size = ranks},
               .version = "main",
               .max_model_len = core::Tokens(8192),
               .enforce_eager = false,
               .settings = {kSettings.settings, stated}});
}

TEST(SglangPlan, HasTheDefaultsOfAnH100) {
  const auto plan = planned("h100");
  ASSERT_TRUE(plan);
  const Options& options = settings_of(plan->options);
  EXPECT_EQ(options.chunked_prefill_size, 8192);
  EXPECT_EQ(options.page_size, 1);
  EXPECT_EQ(plan->cuda_graph_sizes.back(), 256);
  // 512 + 1.5 * 8192 + 1024 / 8 + 2 * 256 MiB of 80 GiB are left.
  EXPECT_NEAR(plan->memory.utilization, 1.0 - 13'440.0 / 81'920.0, 5e-4);
  EXPECT_GT(options.max_total_num_tokens, 300'000);
  EXPECT_EQ(plan->memory.num_gpu_blocks.value(), options.max_total_num_tokens + 1);
  EXPECT_EQ(options.max_running_requests, 4096);  // 512 for each 8192 tokens, at most so many.
  EXPECT_TRUE(plan->options.async_scheduling);
}

TEST(SglangPlan, FollowsTheSizeOfTheGpu) {
  const auto large = planned("b200");
  const auto wide = planned("h100", {}, 4);
  ASSERT_TRUE(large && wide);
  EXPECT_EQ(settings_of(large->options).chunked_prefill_size, 16'384);
  EXPECT_EQ(large->cuda_graph_sizes.back(), 512);
  EXPECT_EQ(wide->cuda_graph_sizes.back(), 512);
}

TEST(SglangPlan, TakesWhatIsStatedUpToTheMemory) {
  const auto small = planned(
      "h100",
      {{"max_total_tokens", Node::integer(10'003, {})}, {"page_size", Node::integer(16, {})}});
  ASSERT_TRUE(small);
  EXPECT_EQ(settings_of(small->options).max_total_num_tokens, 10'000);
  EXPECT_TRUE(small->warnings.empty());
  const auto large = planned("h100", {{"max_total_tokens", Node::integer(10'000'000, {})}});
  ASSERT_TRUE(large);
  EXPECT_LT(settings_of(large->options).max_total_num_tokens, 10'000'000);
  EXPECT_EQ(large->warnings.front().code, "W-max-total-tokens");
  const auto whole = planned("h100", {{"chunked_prefill_size", Node::integer(-1, {})}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(settings_of(whole->options).chunked_prefill_size, 0);
}

TEST(SglangPlan, WindowsHaveAPoolOfTheirOwn) {
  // gpt-oss-20b: half of 24 layers keep the last 128 tokens, in a pool of 0.8 as many tokens.
  const auto plan = planned("h100", {}, 1, "gpt-oss-20b");
  ASSERT_TRUE(plan);
  constexpr double kBytesOfALayer = 2.0 * 8 * 64 * 2;
  EXPECT_NEAR(plan->memory.block.value(), 12 * kBytesOfALayer * 1.8, 1.0);
}

TEST(SglangPlan, RecurrentStatesTakeAPlacePerRequest) {
  const NamedValue without_tree{"disable_radix_cache", Node::boolean(true, {})};
  const auto few = planned("h200",
                           {without_tree, {"max_running_requests", Node::integer(8, {})}},
                           4,
                           "qwen3-next-80b-a3b");
  const auto many = planned("h200",
                            {without_tree, {"max_running_requests", Node::integer(800, {})}},
                            4,
                            "qwen3-next-80b-a3b");
  const auto derived = planned("h200", {without_tree}, 4, "qwen3-next-80b-a3b");
  ASSERT_TRUE(few && many && derived);
  EXPECT_EQ(settings_of(few->options).max_running_requests, 8);
  EXPECT_LT(settings_of(many->options).max_total_num_tokens,
            settings_of(few->options).max_total_num_tokens);
  EXPECT_GT(settings_of(derived->options).max_running_requests, 8);
  const auto in_tree = planned("h200", {}, 4, "qwen3-next-80b-a3b");
  ASSERT_FALSE(in_tree);
  EXPECT_NE(in_tree.error().front().message.find("radix cache"), std::string::npos);
}

/// The field of the first error.
std::string refused(const std::vector<NamedValue>& stated) {
  const auto plan = planned("h100", stated);
  return plan ? "" : plan.error().front().field;
}

TEST(SglangPlan, RefusesWhatTheServerRefusesAndWhatIsNotModelled) {
  EXPECT_EQ(refused({{"chunked_prefill_size", Node::integer(100, {})},
                     {"page_size", Node::integer(64, {})}}),
            "engine.chunked_prefill_size");
  EXPECT_EQ(refused({{"disable_priority_preemption", Node::boolean(true, {})}}),
            "engine.disable_priority_preemption");
  EXPECT_EQ(refused({{"schedule_policy", Node::string("lpm", {})},
                     {"enable_priority_scheduling", Node::boolean(true, {})}}),
            "engine.schedule_policy");
  EXPECT_EQ(refused({{"enable_dp_attention", Node::boolean(true, {})}}),
            "engine.enable_dp_attention");
}

TEST(SglangPlan, RanksOfTheAttentionShareChunksAndSeats) {
  const auto spec = model::find_model("qwen3-30b-a3b");
  const auto board = hardware::find_gpu("h100");
  const std::vector<NamedValue> stated = {
      {.name = "enable_dp_attention", .value = Node::boolean(true, {})},
      {.name = "max_running_requests", .value = Node::integer(10, {})}};
  const auto made = plan({.network = *spec,
                          .gpu = *board,
                          .sharding = {.tensor_parallel_size = 2, .data_parallel_size = 4},
                          .version = "main",
                          .max_model_len = core::Tokens(8192),
                          .settings = {kSettings.settings, stated}});
  ASSERT_TRUE(made.has_value());
  const Options& options = settings_of(made->options);
  EXPECT_EQ(options.chunked_prefill_size, 2048) << "8192 / 4";
  EXPECT_EQ(options.max_running_requests, 2) << "10 / 4";
  EXPECT_EQ(options.schedule_conservativeness, 0.3);
  // 80 GiB less 512 MiB, 1.5 for each of 2048 chunk tokens, 8 GPUs / 8 GiB, 2 for each of 512
  // graphs, and 3 + 1.5 for each of 512 graphs and 4 ranks: (81920 - 14848) / 81920.
  EXPECT_EQ(made->memory.utilization, 0.819);
}

TEST(SglangPlan, TakesADefaultThatIsStated) {
  EXPECT_EQ(refused({{"disable_priority_preemption", Node::boolean(false, {})},
                     {"priority_scheduling_preemption_threshold", Node::integer(10, {})},
                     {"disable_radix_cache", Node::boolean(true, {})},
                     {"radix_eviction_policy", Node::string("lru", {})}}),
            "");
}

TEST(SglangPlan, ANetworkThatDoesNotFitIsInfeasible) {
  const auto plan = planned("h100", {}, 1, "llama-3.1-70b");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().front().code, core::ErrorCode::kInfeasible);
}

}  // namespace
}  // namespace ridgeline::engine::sglang

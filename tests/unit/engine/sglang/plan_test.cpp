// How SGLang fills its defaults and divides a GPU's memory.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/pools.hpp"
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
  // 512 + 1.5 * 8192 + 1024 / 8 + 2 * 256 + 8 * 58 MiB of 80 GiB are left.
  EXPECT_NEAR(plan->memory.utilization, 1.0 - 13'904.0 / 81'920.0, 5e-4);
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
}

TEST(SglangPlan, StatesInTheTreeTakeSlotsOnTheirWay) {
  const auto with_overlap = planned("h200", {}, 4, "qwen3-next-80b-a3b");
  const NamedValue copies{"mamba_radix_cache_strategy", Node::string("no_buffer", {})};
  const auto without = planned("h200", {copies}, 4, "qwen3-next-80b-a3b");
  ASSERT_TRUE(with_overlap && without);
  const Options& tracked = settings_of(with_overlap->options);
  EXPECT_EQ(tracked.state_buffers, 2);
  EXPECT_EQ(tracked.state_track, 256);
  EXPECT_EQ(tracked.max_running_requests, tracked.state_slots / 5);
  const Options& copied = settings_of(without->options);
  EXPECT_EQ(copied.state_buffers, 0);
  EXPECT_FALSE(copied.overlap) << "the server turns it off";
  EXPECT_EQ(copied.max_running_requests, copied.state_slots / 3);
  const auto stated =
      planned("h200", {{"max_mamba_cache_size", Node::integer(100, {})}}, 4, "qwen3-next-80b-a3b");
  ASSERT_TRUE(stated);
  EXPECT_EQ(settings_of(stated->options).max_running_requests, 20);
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
  // 80 GiB less 512 MiB, 1.5 for each of 8192 chunk tokens, 8 GPUs / 8 GiB, 2 for each of 512
  // graphs, 3 + 1.5 for each of 512 graphs and 4 ranks, and 8 for each of 58 graphs of prefills:
  // (81920 - 24528) / 81920.
  EXPECT_EQ(made->memory.utilization, 0.701);
}

TEST(SglangPlan, PagesAreThoseOfTheKernel) {
  const auto page = [](const std::string& gpu,
                       const std::string& network,
                       std::int64_t ranks,
                       const std::vector<NamedValue>& stated = {}) {
    const auto plan = planned(gpu, stated, ranks, network);
    return plan ? settings_of(plan->options).page_size : 0;
  };
  EXPECT_EQ(page("h200", "llama-3.1-8b", 1), 1);
  EXPECT_EQ(page("b200", "llama-3.1-8b", 1), 64);
  EXPECT_EQ(page("b200", "deepseek-r1", 8), 64);
  EXPECT_EQ(page("h200", "deepseek-r1", 8), 1);
  EXPECT_EQ(page("h200", "deepseek-v3.2", 8), 64);
  EXPECT_EQ(page("b300", "deepseek-v4-pro", 8), 256);
  const NamedValue flashinfer{"attention_backend", Node::string("flashinfer", {})};
  EXPECT_EQ(page("b200", "llama-3.1-8b", 1, {flashinfer}), 1);
  const NamedValue stated{"page_size", Node::integer(16, {})};
  EXPECT_EQ(page("b200", "llama-3.1-8b", 1, {stated}), 16);
}

TEST(SglangPlan, ACompressedCacheHasEntriesForSeveralTokens) {
  const auto plan = planned("b300", {}, 8, "deepseek-v4-pro");
  ASSERT_TRUE(plan);
  // 30 layers with an entry and its index for 4 tokens, 31 with one for 128; windows for a tenth.
  const double token = 30 * (585 + 132) / 4.0 + 31 * 864 / 128.0 + 0.1 * 61 * 585;
  EXPECT_NEAR(plan->memory.block.value(), 256 * token, 1.0);
  EXPECT_EQ(settings_of(plan->options).max_running_requests, 256);
}

TEST(SglangPlan, TheHostHasAPoolByRatioOrSize) {
  const NamedValue on{"enable_hierarchical_cache", Node::boolean(true, {})};
  const auto twice = planned("h100", {on});
  const auto sized = planned("h100", {on, {"hicache_size", Node::integer(64, {})}});
  ASSERT_TRUE(twice && sized);
  const Options& options = settings_of(twice->options);
  EXPECT_EQ(options.host.tokens, 2 * options.max_total_num_tokens);
  EXPECT_EQ(settings_of(sized->options).host.tokens, 64'000'000'000 / 131'072);
  // 128 KiB of a token at 50 GB/s.
  EXPECT_NEAR(options.host.per_token.to_seconds(), 131'072 / 50e9, 1e-9);
}

TEST(SglangPlan, DefaultsFollowRelease) {
  const auto graphs = [](std::string_view version, const std::vector<NamedValue>& stated) {
    const auto spec = model::find_model("llama-3.1-8b");
    const auto board = hardware::find_gpu("a10");
    const auto made = plan({.network = *spec,
                            .gpu = *board,
                            .sharding = {},
                            .version = version,
                            .max_model_len = core::Tokens(8192),
                            .settings = {kSettings.settings, stated}});
    return made ? made->cuda_graph_sizes.back() : 0;
  };
  EXPECT_EQ(graphs("0.5.15", {}), 24);
  EXPECT_EQ(graphs("0.5.23", {}), 48);
  const std::vector<NamedValue> few = {{"max_running_requests", Node::integer(16, {})}};
  EXPECT_EQ(graphs("0.5.19", few), 48);
  EXPECT_EQ(graphs("0.5.23", few), 16);
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

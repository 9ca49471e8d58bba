#include "engine/capacity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::engine {
namespace {

MemoryPlan plan(const char* network, const MemoryOptions& options, const char* gpu = "h100") {
  return plan_memory(*model::find_model(network), *hardware::find_gpu(gpu), options);
}

double gib(core::Bytes bytes) {
  return core::as_gibibytes(bytes);
}

// H100: 79.19 GiB usable * 0.9 = 71.271 GiB.

TEST(Capacity, Llama8B) {
  // 8,030,261,248 parameters * 2 B = 14.9575 GiB. Profile run: 2048 tokens * 2 * 4096 * 2 B kept =
  // 0.0313 GiB; the sampler, 256 rows * 128,256 * 38 B = 1.1620 GiB, is above a layer's 2048 * 3 *
  // 14336 * 2 B = 0.1641. Positions: 131,072 * 128 * 2 B = 0.0313. Libraries: 0.25.
  // 71.271 - 14.9575 - 1.1932 - 0.0313 - 0.25 = 54.8390 GiB. A block: 16 tokens * 32 layers * 2 * 8
  // heads * 128 * 2 B = 2 MiB. 54.8390 GiB / 2 MiB = 28,077.6.
  const auto memory = plan("llama-3.1-8b", {});
  EXPECT_NEAR(gib(memory.weights), 14.9575, 1e-4);
  EXPECT_NEAR(gib(memory.activations), 1.1932, 1e-4);
  EXPECT_NEAR(gib(memory.position_tables), 0.03125, 1e-6);
  EXPECT_EQ(memory.block, core::Bytes(2.0 * 1024 * 1024));
  EXPECT_EQ(memory.num_gpu_blocks, core::Blocks(28'077));
}

TEST(Capacity, Llama70BOnFour) {
  // (70,553,706,496 - 161 norms * 8192) / 4 + 161 * 8192 = 17,639,415,808 parameters, 32.8560 GiB a
  // rank. Profile run: 0.0625 kept + 1.1620. 71.271 - 32.8560 - 1.2245 - 0.0313 - 0.25 - 0.4 for
  // communication = 36.5093 GiB. A block: 16 * 80 layers * 2 * 2 heads * 128 * 2 B = 1.25 MiB.
  // 36.5093 GiB / 1.25 MiB = 29,908.4.
  const auto memory = plan("llama-3.1-70b", {.sharding = {.tensor_parallel_size = 4}});
  EXPECT_NEAR(gib(memory.weights), 32.8560, 1e-4);
  EXPECT_EQ(memory.block, core::Bytes(1.25 * 1024 * 1024));
  EXPECT_NEAR(static_cast<double>(memory.num_gpu_blocks.value()), 29'908, 1);
}

TEST(Capacity, ManyTokensAndFewRowsPeakInALayer) {
  // 16,384 tokens: 16,384 * 3 * 14336 * 2 B = 1.3125 GiB in a layer, 8 rows * 128,256 * 50 B =
  // 0.0478 in the sampler; kept 16,384 * 16 KiB = 0.25.
  const auto memory =
      plan("llama-3.1-8b", {.max_num_seqs = 8, .max_num_batched_tokens = core::Tokens(16384)});
  EXPECT_NEAR(gib(memory.activations), 1.5625, 1e-4);
}

TEST(Capacity, AtEightRanksARankStillHoldsOneWholeKvHead) {
  // 16 tokens * 28 layers * 2 * 4 heads * 128 * 2 B = 896 KiB; a quarter with one head of four.
  EXPECT_EQ(plan("qwen2.5-7b", {}).block, core::Bytes(896.0 * 1024));
  EXPECT_EQ(plan("qwen2.5-7b", {.sharding = {.tensor_parallel_size = 4}}).block,
            core::Bytes(224.0 * 1024));
}

TEST(Capacity, DeepSeekV3OnEightAddsUp) {
  // Each rank holds every token's latent: 61 layers * (512 + 64) * 2 B = 70,272 B, whatever the
  // cut.
  for (const std::int64_t ranks : {1, 8}) {
    EXPECT_EQ(plan("deepseek-ai/DeepSeek-V3", {.sharding = {.tensor_parallel_size = ranks}}, "h200")
                  .block,
              core::Bytes(16.0 * 70'272));
  }
  // Weights of a rank, in 10^9 bytes: embedding and head in 16 bits 2 * 129,280 * 7,168 * 2 / 8 =
  // 0.4634; routers on every rank 58 * 256 * 7,168 * 2 = 0.2128; in FP8, of each of 61 layers the
  // projections into the latents whole 7,168 * (1,536 + 576), the others' eighth 1,536 * 24,576 +
  // 512 * 32,768 + 16,384 * 7,168: 2.2347; 3 dense layers 3 * 7,168 * 18,432 / 8: 0.1486; 58 of 257
  // experts 3 * 7,168 * 2,048 / 8: 82.0580; norms 0.0020. 85.1195e9 B = 79.274 GiB.
  const auto memory =
      plan("deepseek-ai/DeepSeek-V3", {.sharding = {.tensor_parallel_size = 8}}, "h200");
  EXPECT_NEAR(gib(memory.weights), 79.274, 0.005);
  EXPECT_NEAR(gib(memory.budget), 139.8 * 0.9, 0.01);
  EXPECT_NEAR(
      gib(memory.kv_cache), gib(memory.budget) - gib(memory.weights) - gib(memory.reserve), 1e-9);
  EXPECT_NEAR(static_cast<double>(memory.num_gpu_blocks.value()),
              memory.kv_cache.value() / (16.0 * 70'272),
              1.0);
}

TEST(Capacity, WindowsFormGroupsOfTheirOwn) {
  // gpt-oss-120b: 18 layers keep all, 18 the last 128 tokens; of each token 2 * 8 heads * 64 * 2 B
  // = 2 KiB a layer. One group each: a block is 16 tokens * 18 layers * 2 KiB = 576 KiB.
  const auto memory = plan("gpt-oss-120b", {.sharding = {.tensor_parallel_size = 1}}, "h200");
  ASSERT_EQ(memory.layouts.size(), 2U);
  EXPECT_EQ(memory.block, core::Bytes(576.0 * 1024));
  EXPECT_EQ(memory.num_groups(), 2);
  // 4,096 tokens, 2,048 a step: 256 blocks of the one group, and of the other room for 127 + 2,048
  // tokens, from anywhere in a block: 136 + 1.
  EXPECT_EQ(blocks_of_request(memory, core::Tokens(4096), core::Tokens(2048)), 256 + 137);
  EXPECT_EQ(blocks_of_request(memory, core::Tokens(100), core::Tokens(2048)), 7 + 7);
  const auto groups = engine_cache_groups(memory);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].sliding_window.value() + groups[1].sliding_window.value(), 128);
}

TEST(Capacity, TheCommonerKindHasMoreGroups) {
  // Gemma 3 27B: 62 layers, every sixth keeps all: 10, and 52 a window: 10 a group, 1 and 6 groups.
  const auto memory = plan("gemma-3-27b", {.sharding = {.tensor_parallel_size = 2}});
  EXPECT_EQ(memory.num_groups(), 7);
  // 2 * 8 heads of 16 * 128 * 2 B * 10 layers * 16 tokens.
  EXPECT_EQ(memory.block, core::Bytes(2.0 * 8 * 128 * 2 * 10 * 16));
}

TEST(Capacity, LayersWithSmallerCachesHaveLongerBlocks) {
  // Gemma 4 31B: 50 layers of a window with 2 * 16 heads * 256 * 2 B = 16 KiB a token, 10 that keep
  // all of half as much. A block is 16 tokens of 10 of the former or 32 tokens of the latter, 2.5
  // MiB; with 32 tokens in every block the windows need 50 * 16 KiB * 32 / 2.5 MiB = 10 groups.
  const auto memory = plan("gemma-4-31b", {}, "h200");
  EXPECT_EQ(memory.block_size, core::Tokens(32));
  EXPECT_EQ(memory.block, core::Bytes(2.5 * 1024 * 1024));
  EXPECT_EQ(memory.num_groups(), 10 + 1);
  // 100,000 tokens: 3,125 blocks of the one, and room for 1,023 + 8,192 tokens of the others.
  EXPECT_EQ(blocks_of_request(memory, core::Tokens(100'000), core::Tokens(8192)),
            3125 + 10 * (288 + 1));
}

TEST(Capacity, AStateTakesABlockThatGrowsToHoldIt) {
  // Qwen3-Next on two ranks: 12 layers of attention with one KV head of 256 on each, 1 KiB a token;
  // 36 with 16 heads of 128 x 128 in 16 bits and 3 columns of 4,096 channels: 512 + 24 KiB. Blocks
  // of 536 tokens would hold that; in steps of 16: 544 (vLLM says "Setting attention block size to
  // 544 tokens").
  const auto memory = plan("qwen3-next-80b-a3b", {.sharding = {.tensor_parallel_size = 2}}, "h200");
  EXPECT_EQ(memory.block_size, core::Tokens(544));
  EXPECT_EQ(memory.block, core::Bytes(544.0 * 1024 * 12));
  EXPECT_EQ(memory.num_groups(), 1 + 3);
  // 1,000 tokens: two blocks, and one of each group of states, as any longer request has.
  EXPECT_EQ(blocks_of_request(memory, core::Tokens(1000), core::Tokens(8192)), 2 + 3);
  EXPECT_EQ(blocks_of_request(memory, core::Tokens(100'000), core::Tokens(8192)), 184 + 3);
}

TEST(Capacity, TheLongestRequestIsTheLastThatFits) {
  const auto memory = plan("gpt-oss-120b", {}, "h200");
  const auto longest = [&](std::int64_t blocks) {
    return longest_request(
        memory, core::Blocks(blocks), core::Tokens(2048), core::Tokens(1'000'000));
  };
  // 392 blocks and the null block hold 255 full ones: 255 + 137.
  EXPECT_EQ(longest(393), core::Tokens(255 * 16));
  EXPECT_EQ(longest(394), core::Tokens(256 * 16));
  EXPECT_EQ(longest(1), core::Tokens(0));
  EXPECT_EQ(longest(10'000'000), core::Tokens(1'000'000));
  const auto plain = plan("llama-3.1-8b", {});
  EXPECT_EQ(longest_request(plain, core::Blocks(101), core::Tokens(2048), core::Tokens(9999)),
            core::Tokens(1600));
}

TEST(Capacity, ADraftingNetworkSharesMemoryAndBlocks) {
  const auto draft = model::find_model("llama-3.2-1b").value();
  MemoryOptions options{.sharding = {.tensor_parallel_size = 4}};
  const auto alone = plan("llama-3.1-70b", options);
  options.draft = &draft;
  options.draft_sharding = options.sharding;
  const auto both = plan("llama-3.1-70b", options);
  EXPECT_EQ(both.weights, alone.weights + model::weight_bytes_per_rank(draft, options.sharding));
  // 16 layers * 2 * 2 heads * 64 * 2 B * 16 tokens beside it.
  EXPECT_EQ(both.block - alone.block, core::Bytes(16.0 * 2 * 2 * 64 * 2 * 16));
}

TEST(Capacity, RanksThatDealOutTheContextHoldABlockOfIt) {
  const MemoryPlan whole = plan("deepseek-v3", {.sharding = {.tensor_parallel_size = 8}}, "h200");
  const MemoryPlan shared =
      plan("deepseek-v3",
           {.sharding = {.tensor_parallel_size = 8, .decode_context_parallel_size = 4}},
           "h200");
  EXPECT_EQ(shared.block, whole.block);
  EXPECT_EQ(shared.num_gpu_blocks, whole.num_gpu_blocks);
  EXPECT_EQ(shared.block_size, whole.block_size * 4);
}

TEST(Capacity, WeightsOnTheHostLeaveRoom) {
  const MemoryPlan whole = plan("llama-3.1-8b", {});
  const MemoryPlan lighter = plan("llama-3.1-8b", {.host_weights = core::gibibytes(4.0)});
  EXPECT_NEAR(gib(lighter.kv_cache) - gib(whole.kv_cache), 4.0, 1e-9);
  // Two MiB a block, whatever gpu_memory_utilization is.
  EXPECT_EQ(plan("llama-3.1-8b", {.kv_cache = core::gibibytes(1.0)}).num_gpu_blocks,
            core::Blocks(512));
}

TEST(Capacity, StagesHoldTheirOwnLayers) {
  // 80 layers in 2 stages: half the cache, and about half the weights, of each GPU.
  const auto whole = plan("llama-3.1-70b", {.sharding = {.tensor_parallel_size = 4}});
  const auto half =
      plan("llama-3.1-70b", {.sharding = {.tensor_parallel_size = 4, .pipeline_parallel_size = 2}});
  EXPECT_EQ(half.block, whole.block / 2.0);
  EXPECT_NEAR(half.weights / whole.weights, 0.5, 0.02);
}

TEST(Capacity, GraphsCountAgainstTheBudgetFrom020) {
  // min(2 * 256, 512) = 512: 1, 2, 4, every 8th to 256 (32), every 16th to 512 (16): 51 sizes * 32
  // layers * 0.25 MiB = 408 MiB = 204 blocks of 2 MiB.
  MemoryOptions options{.profile = *find_profile("vllm@0.19")};
  const auto before = plan("llama-3.1-8b", options);
  options.profile = *find_profile("vllm@0.20");
  const auto after = plan("llama-3.1-8b", options);
  EXPECT_EQ(before.cuda_graphs, core::Bytes(408.0 * 1024 * 1024));
  EXPECT_FALSE(before.graphs_in_budget);
  EXPECT_EQ(before.num_gpu_blocks - after.num_gpu_blocks, core::Blocks(204));
  options.enforce_eager = true;
  EXPECT_EQ(plan("llama-3.1-8b", options).num_gpu_blocks, before.num_gpu_blocks);
  // The second runner, which dense networks have from 0.25 on, estimates none of them.
  EXPECT_FALSE(plan("llama-3.1-8b", {.profile = *find_profile("vllm@0.25")}).graphs_in_budget);
  EXPECT_TRUE(plan("gpt-oss-20b", {.profile = *find_profile("vllm@0.25")}).graphs_in_budget);
}

TEST(Capacity, AModelThatDoesNotFitHasNoBlocks) {
  const auto memory = plan("llama-3.1-70b", {});
  EXPECT_LT(memory.kv_cache, core::Bytes(0));
  EXPECT_EQ(memory.num_gpu_blocks, core::Blocks(0));
}

TEST(Capacity, Mxfp4ExpertsArePaddedToTheKernelsTiles) {
  // gpt-oss-120b: 36 layers of 128 experts, three matrices of 2880 x 2880, padded to 3072 x 2944,
  // of 4.25 bits: 36 * 128 * 3 * (9,043,968 - 8,294,400) * 0.53125 B = 5.127 GiB. Published as
  // loaded: 64.4 to 66.0 GiB (vLLM issues 23278, 33155).
  const auto one = plan("gpt-oss-120b", {}, "h200");
  EXPECT_NEAR(gib(one.expert_padding), 5.127, 1e-3);
  EXPECT_GE(gib(one.weights), 64.4);
  EXPECT_LE(gib(one.weights), 66.0);
  // Each of eight ranks has columns of 360, padded to 384: 36 * 128 * 3 * (3072 * 384 - 2880 * 360)
  // * 0.53125 B = 0.977 GiB; or 16 whole experts, an eighth of the padding of all.
  const auto sliced = plan("gpt-oss-120b", {.sharding = {.tensor_parallel_size = 8}}, "h200");
  EXPECT_NEAR(gib(sliced.expert_padding), 0.977, 1e-3);
  const auto whole = plan(
      "gpt-oss-120b", {.sharding = {.tensor_parallel_size = 8, .expert_parallel = true}}, "h200");
  EXPECT_NEAR(gib(whole.expert_padding), 5.127 / 8.0, 1e-3);
  EXPECT_EQ(plan("llama-3.1-8b", {}).expert_padding, core::Bytes(0));
}

/// What a server's log says of one GPU.
struct Logged {
  const char* network;
  const char* version;
  const char* gpu;
  std::int64_t ranks;
  MemoryOptions options;
  double activations_gib;
  double non_torch_gib;  ///< 0: not said.
};

/// Lines of public server logs (shared/groundtruth, turn3-memory: planner011, planner019 and
/// qwen3-235b-fp8-8xl40s-0102). Of 8,192 tokens and 1,024 rows but for the L40S.
std::vector<Logged> logged_memory() {
  const MemoryOptions large{.max_num_seqs = 1024, .max_num_batched_tokens = core::Tokens(8192)};
  return {{"llama-3.1-8b", "0.11", "h100", 1, large, 4.76, 0.13},
          {"llama-3.1-70b-fp8", "0.11", "h100", 2, large, 4.84, 0.55},
          {"qwen3-235b-a22b-fp8", "0.10.2", "l40s", 8, {}, 1.4, 0.0},
          {"llama-3.1-8b", "0.19", "h100", 1, large, 1.89, 0.25},
          {"qwen2.5-7b", "0.19", "h100", 1, large, 2.21, 0.24},
          {"qwen3-8b", "0.19", "h100", 1, large, 2.21, 0.25},
          {"qwen2.5-7b", "0.19", "h100", 2, large, 2.21, 2.06}};
}

TEST(Capacity, MeetsWhatLogsSayOfActivationsAndLibraries) {
  for (const Logged& log : logged_memory()) {
    MemoryOptions options = log.options;
    options.profile = *find_profile(log.version);
    options.sharding.tensor_parallel_size = log.ranks;
    const auto memory = plan(log.network, options, log.gpu);
    EXPECT_NEAR(gib(memory.activations), log.activations_gib, 0.02 * log.activations_gib)
        << log.network << " " << log.version;
    if (log.non_torch_gib > 0.0) {
      EXPECT_NEAR(gib(memory.non_torch), log.non_torch_gib, 0.03)
          << log.network << " " << log.version;
    }
  }
}

TEST(Capacity, TheFusedAllReduceTakesItsWorkspace) {
  // 64 MiB between two H100, or 8,192 tokens of 4,096 elements of 2 B: 64 MiB as well. Four times
  // that for each of two ranks, 0.5 GiB; 2 MiB between four of them, 0.03 GiB.
  MemoryOptions options{.sharding = {.tensor_parallel_size = 2},
                        .max_num_batched_tokens = core::Tokens(8192),
                        .profile = *find_profile("vllm@0.28")};
  EXPECT_NEAR(gib(plan("llama-3.1-8b", options).non_torch), 0.25 + 0.4 + 0.5, 1e-6);
  options.max_num_batched_tokens = core::Tokens(2048);
  EXPECT_NEAR(gib(plan("llama-3.1-8b", options).non_torch), 0.25 + 0.4 + 0.125, 1e-6);
  options.sharding.tensor_parallel_size = 4;
  EXPECT_NEAR(gib(plan("llama-3.1-8b", options).non_torch), 0.25 + 0.4 + 0.03125, 1e-6);
  // Not without NVLink, and not between stages.
  EXPECT_NEAR(gib(plan("llama-3.1-8b", options, "l40s").non_torch), 0.65, 1e-6);
  options.sharding = {.pipeline_parallel_size = 2};
  EXPECT_NEAR(gib(plan("llama-3.1-8b", options).non_torch), 0.25, 1e-6);
}

TEST(Capacity, NewVersionsSampleInLessMemory) {
  // Gemma 4 26B, vLLM 0.19 on an A100, 256 rows of 262,144 logits: activations of about 1.2 GiB by
  // its log. 14 B a logit are 0.875 GiB, a row of 32 bits for each of 108 SMs 0.1055, and 2048
  // tokens * 2 * 2816 * 2 B kept 0.0215.
  MemoryOptions options{.profile = *find_profile("vllm@0.19")};
  const auto sortless = plan("gemma-4-26b-a4b", options, "a100-80gb");
  EXPECT_NEAR(gib(sortless.activations), 1.0020, 1e-3);
  // That machine's KV cache is 21.5 GiB by its log, and that of gpt-oss-20b 36.6 where the
  // server gets 0.65 of the memory.
  EXPECT_NEAR(gib(sortless.kv_cache), 21.5, 0.02 * 21.5);
  options.gpu_memory_utilization = 0.65;
  EXPECT_NEAR(gib(plan("gpt-oss-20b", options, "a100-80gb").kv_cache), 36.6, 0.02 * 36.6);
  // 38 B a logit in 0.15: 2.375.
  options = {.profile = *find_profile("vllm@0.15")};
  EXPECT_NEAR(gib(plan("gemma-4-26b-a4b", options, "a100-80gb").activations), 2.3965, 1e-3);
  // 6 B a logit in the second runner: 0.1957 of 128,256 * 256, and 0.0313 kept; a layer's 0.1641 is
  // less.
  options = {.profile = *find_profile("vllm@0.25")};
  EXPECT_NEAR(gib(plan("llama-3.1-8b", options).activations), 0.1835 + 0.0313, 1e-3);
}

TEST(Capacity, ARequestInDecodeHoldsWhatTheEngineGivesIt) {
  // From a prompt of one token the engine decodes to 6,000, so that no chunk of a prompt fills a
  // window's blocks: its peak is what a request of 6,000 tokens holds.
  constexpr core::Tokens kTokens{6000};
  const test::LinearModel model;
  for (const char* network : {"llama-3.1-8b",
                              "gpt-oss-120b",
                              "gemma-2-27b",
                              "gemma-3-27b",
                              "gemma-4-26b-a4b",
                              "mimo-v2-flash",
                              "qwen3-next-80b-a3b"}) {
    const auto memory = plan(network, {.sharding = {.tensor_parallel_size = 4}}, "h200");
    EngineOptions options;
    options.max_model_len = kTokens + core::Tokens(1);
    options.block_size = memory.block_size;
    options.num_gpu_blocks = core::Blocks(100'000);
    options.cache_groups = engine_cache_groups(memory);
    domain::Request request;
    request.prompt_tokens = core::Tokens(1);
    request.output_tokens = kTokens;
    request.max_tokens = kTokens;
    const auto run = test::run_engine(options, model, {}, {request}, test::Twin::kReference);
    EXPECT_EQ(run.totals.peak_used_blocks.value(),
              blocks_of_request(memory, kTokens, core::Tokens(1)))
        << network;
  }
}

/// A count that a run published.
struct Published {
  const char* network;
  MemoryOptions options;
  double blocks;
};

/// Runs on H100 with block_size 16 and gpu_memory_utilization 0.9, as published with
/// inference-sim's training data and a guidellm run (docs/models/capacity.md). The network with a
/// vision tower, which the catalogue knows without it, is not among them.
std::vector<Published> published_counts() {
  const auto options = [](std::int64_t ranks, std::int64_t tokens, std::int64_t seqs) {
    return MemoryOptions{.sharding = {.tensor_parallel_size = ranks},
                         .max_num_seqs = seqs,
                         .max_num_batched_tokens = core::Tokens(tokens)};
  };
  return {{"llama-2-7b", options(1, 2048, 128), 7463},
          {"llama-2-7b", options(1, 4096, 256), 7438},
          {"llama-3.1-70b", options(4, 2048, 128), 30425},
          {"llama-3.1-70b", options(4, 8192, 128), 30251},
          {"mistral-nemo-12b", options(1, 2048, 128), 19251},
          {"mistral-nemo-12b", options(2, 1024, 128), 48009},
          {"qwen2.5-7b", options(1, 1024, 128), 65368},
          {"qwen2.5-7b", options(1, 2048, 128), 65352},
          {"yi-34b", options(2, 2048, 128), 20793}};
}

TEST(Capacity, MeetsPublishedCounts) {
  std::vector<double> errors;
  for (const auto& run : published_counts()) {
    const auto blocks = plan(run.network, run.options).num_gpu_blocks.value();
    const double error = 100.0 * (static_cast<double>(blocks) / run.blocks - 1.0);
    std::cout << run.network << " TP " << run.options.sharding.tensor_parallel_size << ": "
              << blocks << " blocks, published " << run.blocks << ", error " << error << " %\n";
    errors.push_back(std::abs(error));
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() / 2], 0.15);
  EXPECT_LE(errors.back(), 1.2);
}

}  // namespace
}  // namespace ridgeline::engine

#include "scenario/memory_limits.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "scenario/deployment.hpp"
#include "scenario/scenario.hpp"
#include "unit/scenario/resolving.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

TEST(MemoryLimits, OrderOfRequestsAndAdapters) {
  const auto plain = resolved(with("llama-3.1-8b", "h100"));
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->engine.policy, engine::SchedulingPolicy::kFcfs);
  EXPECT_EQ((*plain)->engine.max_loras, 0);
  EXPECT_FALSE((*plain)->section.engine.max_loras);
  const auto result = resolved(with("llama-3.1-8b",
                                    "h100",
                                    {{.path = "engine.scheduling_policy", .text = "priority"},
                                     {.path = "engine.enable_lora", .text = "true"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->engine.policy, engine::SchedulingPolicy::kPriority);
  // vLLM's default, which the resolved scenario states.
  EXPECT_EQ((*result)->engine.max_loras, 1);
  EXPECT_EQ((*result)->section.engine.max_loras, 1);
  ASSERT_EQ((*result)->warnings.size(), 1U);
  EXPECT_EQ((*result)->warnings[0].code, "W-unpriced-lora");
  const auto refused = only_error(with("llama-3.1-8b",
                                       "h100",
                                       {{.path = "engine.scheduling_policy", .text = "priority"},
                                        {.path = "engine.version", .text = "vllm@0.8"}}));
  EXPECT_EQ(refused.field, "engine.scheduling_policy");
  const auto ignored =
      only_error(with("llama-3.1-8b", "h100", {{.path = "engine.max_loras", .text = "2"}}));
  EXPECT_EQ(ignored.field, "engine.max_loras");
}

TEST(MemoryLimits, FillsTheDefaultsOfVllm) {
  const auto result = resolved(with("llama-3.1-8b", "h100"));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  const Deployment& out = **result;
  // vLLM on a GPU of 70 GiB or more that is no A100: 1024 sequences, 8192 tokens.
  EXPECT_EQ(out.engine.max_num_seqs, 1024);
  EXPECT_EQ(out.engine.max_num_batched_tokens, core::Tokens(8192));
  EXPECT_EQ(out.engine.max_model_len, core::Tokens(131072));
  EXPECT_TRUE(out.engine.async_scheduling);
  EXPECT_EQ(out.memory.utilization, 0.9);
  EXPECT_EQ(out.execution.cuda_graph_sizes.back(), 512);
  EXPECT_TRUE(out.warnings.empty());
  // What was derived stands in the section.
  EXPECT_EQ(out.section.engine.max_model_len, 131072);
  EXPECT_EQ(out.section.engine.num_gpu_blocks, out.engine.num_gpu_blocks.value());
}

TEST(MemoryLimits, SmallGpusAndOldVersionsHaveOtherDefaults) {
  const auto result = resolved(with("llama-3.1-8b", "l40s", {{"engine.version", "vllm@0.11"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->engine.max_num_seqs, 256);
  EXPECT_EQ((*result)->engine.max_num_batched_tokens, core::Tokens(2048));
  EXPECT_FALSE((*result)->engine.async_scheduling);
}

/// Asynchronous steps of vLLM before 0.14 hide the host's work of greedy requests alone.
TEST(MemoryLimits, EarlyAsynchronousStepsWaitForTheHost) {
  const auto waits = [](std::vector<Override> more) {
    const auto result = resolved(with("llama-3.1-8b", "h100", std::move(more)));
    EXPECT_TRUE(result);
    const bool warned = std::ranges::any_of((*result)->warnings, [](const core::Warning& warning) {
      return warning.code == "W-async-waits";
    });
    EXPECT_EQ(warned, (*result)->engine.waits_for_host);
    return warned;
  };
  const Override async{"engine.async_scheduling", "true"};
  EXPECT_TRUE(waits({{"engine.version", "vllm@0.11"}, async}));
  EXPECT_FALSE(waits({{"engine.version", "vllm@0.11"}}));
  EXPECT_FALSE(
      waits({{"engine.version", "vllm@0.11"}, async, {"engine.generation_config", "vllm"}}));
  EXPECT_FALSE(waits({{"engine.version", "vllm@0.14"}, async}));
}

TEST(MemoryLimits, WarnsWhenTheCacheCannotHoldTheLongestRequest) {
  const auto result = resolved(with("llama-3.1-8b", "h100", {{"engine.num_gpu_blocks", "101"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  // 100 blocks of 16 tokens: the null block holds none.
  EXPECT_EQ((*result)->engine.max_model_len, core::Tokens(1600));
  ASSERT_EQ((*result)->warnings.size(), 1U);
  EXPECT_EQ((*result)->warnings.front().code, "W-max-model-len");
}

TEST(MemoryLimits, TheCheckAtTheStartCountsTheNullBlock) {
  // 99 blocks of 16 tokens hold 1584; vLLM starts with 1600 and never runs a request of that
  // length.
  const auto starts =
      resolved(with("llama-3.1-8b",
                    "h100",
                    {{"engine.num_gpu_blocks", "100"}, {"engine.max_model_len", "1600"}}));
  ASSERT_TRUE(starts) << core::to_string(starts.error().front());
  ASSERT_EQ((*starts)->warnings.size(), 1U);
  EXPECT_EQ((*starts)->warnings.front().code, "W-null-block");
  const auto error =
      only_error(with("llama-3.1-8b",
                      "h100",
                      {{"engine.num_gpu_blocks", "100"}, {"engine.max_model_len", "1601"}}));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
}

TEST(MemoryLimits, ANetworkThatDoesNotFitIsInfeasible) {
  // 70.55e9 parameters in bf16 are 131.4 GiB, twice what 0.9 of an H100 holds.
  const auto error = only_error(with("llama-3.1-70b", "h100"));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "model");
  EXPECT_THAT(error.message, HasSubstr("does not fit"));
  EXPECT_THAT(error.message, HasSubstr("131.42 weights"));
  EXPECT_THAT(error.message, testing::Not(HasSubstr("by an estimate")));
  // Two hold 65.71 GiB of it each, of 71.27; sampling 1024 rows of 128,256 in the profile run takes
  // 4.65 more, and all else 0.93. With 64 rows it is 0.38.
  EXPECT_THAT(error.hint, HasSubstr("--tensor-parallel-size 4"));
  const auto few = only_error(with("llama-3.1-70b", "h100", {{"engine.max_num_seqs", "64"}}));
  EXPECT_THAT(few.hint, HasSubstr("--tensor-parallel-size 2"));
}

TEST(MemoryLimits, TheHintNamesWhatSuffices) {
  // 67.66 GiB of FP8 weights fit one H100 with less of 4.65 GiB for 1024 sampled rows: 71.27
  // - 67.66 leaves 3.61 for rows and cache at 0.9, 7.57 at 0.95.
  const auto error = only_error(with("llama-3.1-70b-fp8", "h100"));
  EXPECT_THAT(
      error.hint,
      HasSubstr("it fits with --gpu-memory-utilization 0.95; or with --sampler flashinfer"));
  // What it names does, and of fewer sequences as many as fit.
  EXPECT_TRUE(
      resolved(with("llama-3.1-70b-fp8", "h100", {{"engine.gpu_memory_utilization", "0.95"}})));
  EXPECT_TRUE(resolved(with("llama-3.1-70b-fp8", "h100", {{"engine.sampler", "flashinfer"}})));
  // 4096 rows take 18.6 GiB to sort, 6.9 without.
  const auto rows =
      only_error(with("llama-3.1-70b-fp8", "h100", {{"engine.max_num_seqs", "4096"}}));
  EXPECT_THAT(rows.hint, HasSubstr("it fits with --max-num-seqs "));
  EXPECT_THAT(rows.hint, testing::Not(HasSubstr("--sampler")));
  EXPECT_THAT(error.hint, HasSubstr("; or with --tensor-parallel-size 2"));
  // 405B in 16 bits are 756 GiB, more than a node of 8: two stages of one.
  const auto large = only_error(with("llama-3.1-405b", "h100"));
  EXPECT_THAT(large.hint, HasSubstr("--tensor-parallel-size 8 --pipeline-parallel-size 2"));
  // On two H100s 70B does not fit beside 1024 sampled rows; the FP8 checkpoint of the same network
  // does.
  const auto two =
      only_error(with("llama-3.1-70b", "h100", {{"engine.tensor_parallel_size", "2"}}));
  EXPECT_THAT(two.hint, HasSubstr("--model llama-3.1-70b-fp8"));
  // No checkpoint in another format: vLLM quantises while it loads. 72.7e9 weights, 135 GiB.
  const auto online = only_error(with("qwen2.5-72b", "h200", {{"engine.max_num_seqs", "1024"}}));
  EXPECT_THAT(online.hint, HasSubstr("--quantization fp8"));
  EXPECT_TRUE(resolved(with(
      "qwen2.5-72b", "h200", {{"engine.max_num_seqs", "1024"}, {"engine.quantization", "fp8"}})));
}

TEST(MemoryLimits, LengthsThatVllmWouldNotStartWithAreNamed) {
  const auto result =
      resolved(with("llama-3.1-70b",
                    "h100",
                    {{"engine.tensor_parallel_size", "2"}, {"engine.max_num_seqs", "64"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  const core::Warning& warning = (*result)->warnings.front();
  EXPECT_EQ(warning.code, "W-max-model-len");
  EXPECT_THAT(warning.message,
              HasSubstr("vLLM needs --max-model-len " +
                        std::to_string((*result)->engine.max_model_len.value()) + " to start"));
}

TEST(MemoryLimits, TheVersionsSamplerDecidesTheRoom) {
  // 1024 rows of 201,088 logits take 7.29 GiB to sort, 38 B each, and 2.78 without: 14 B, and 4 for
  // one row of each of 132 SMs.
  const auto options = [](const char* version, std::vector<Override> more = {}) {
    more.push_back({.path = "engine.version", .text = version});
    return with("gpt-oss-120b", "h100", std::move(more));
  };
  EXPECT_EQ(only_error(options("vllm@0.16")).code, core::ErrorCode::kInfeasible);
  const auto fits = resolved(options("vllm@0.17"));
  ASSERT_TRUE(fits) << core::to_string(fits.error().front());
  EXPECT_NEAR(core::as_gibibytes((*fits)->memory.kv_cache), 2.19, 0.05);
  // What the version chose is stated, and the option has the last word.
  EXPECT_EQ((*fits)->section.engine.sampler, "flashinfer");
  EXPECT_TRUE(resolved(options("vllm@0.15", {{"engine.sampler", "flashinfer"}})));
  EXPECT_FALSE(resolved(options("vllm@0.19", {{"engine.sampler", "sort"}})));
}

TEST(MemoryLimits, ARefusalWithinTheDoubtOfTheTermsSaysSo) {
  // 65.93 GiB of weights, 7.29 to sort and some 0.4 are 2.3 GiB more than 71.27: 3.3 % of the
  // budget.
  const auto error = only_error(with("gpt-oss-120b", "h100"));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_THAT(error.message, HasSubstr("by an estimate"));
  EXPECT_THAT(error.hint, HasSubstr("--sampler flashinfer"));
  // A length that a little more memory would hold, and one that much more would not.
  const auto long_by = [](const char* tokens) {
    return only_error(with("llama-3.1-70b",
                           "h100",
                           {{"engine.tensor_parallel_size", "2"},
                            {"engine.max_num_seqs", "64"},
                            {"engine.max_model_len", tokens}}));
  };
  EXPECT_THAT(long_by("32768").message, HasSubstr("by an estimate"));
  EXPECT_THAT(long_by("131072").message, testing::Not(HasSubstr("by an estimate")));
  // A stated number of blocks is none.
  EXPECT_THAT(only_error(with("llama-3.1-8b",
                              "h100",
                              {{"engine.num_gpu_blocks", "101"}, {"engine.max_model_len", "1617"}}))
                  .message,
              testing::Not(HasSubstr("by an estimate")));
}

TEST(MemoryLimits, From020OnEachSequenceNeedsABlockForItsState) {
  const auto start =
      [](const char* version, const char* sequences, std::vector<Override> more = {}) {
        more.push_back({"engine.version", version});
        more.push_back({"engine.tensor_parallel_size", "2"});
        more.push_back({"engine.num_gpu_blocks", "500"});
        more.push_back({"engine.max_num_seqs", sequences});
        return with("qwen3-next-80b-a3b", "h200", std::move(more));
      };
  const auto error = only_error(start("vllm@0.20", "501"));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "engine.max_num_seqs");
  EXPECT_THAT(error.message, HasSubstr("501 exceeds the 500 Mamba cache blocks"));
  EXPECT_THAT(error.hint, HasSubstr("--max-num-seqs 500"));
  EXPECT_EQ(only_error(start("vllm@0.28", "501")).field, "engine.max_num_seqs");
  // As many as there are blocks; before that check; without graphs that hold decodes whole.
  EXPECT_TRUE(resolved(start("vllm@0.20", "500")));
  EXPECT_TRUE(resolved(start("vllm@0.19", "501")));
  EXPECT_TRUE(resolved(start("vllm@0.20", "501", {{"engine.enforce_eager", "true"}})));
  EXPECT_TRUE(resolved(start("vllm@0.20", "501", {{"engine.cudagraph_mode", "PIECEWISE"}})));
  // Networks without states need none.
  EXPECT_TRUE(resolved(with("llama-3.1-8b",
                            "h100",
                            {{"engine.version", "vllm@0.20"},
                             {"engine.num_gpu_blocks", "500"},
                             {"engine.max_num_seqs", "501"}})));
}

TEST(MemoryLimits, AnExplicitLengthThatDoesNotFitIsInfeasible) {
  const auto error =
      only_error(with("llama-3.1-8b",
                      "h100",
                      {{"engine.num_gpu_blocks", "101"}, {"engine.max_model_len", "1617"}}));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "engine.max_model_len");
  EXPECT_THAT(error.message, HasSubstr("1617 tokens"));
  EXPECT_TRUE(resolved(with("llama-3.1-8b",
                            "h100",
                            {{"engine.num_gpu_blocks", "101"}, {"engine.max_model_len", "1600"}})));
}

TEST(MemoryLimits, ALengthBeyondTheNetworkIsBadInput) {
  const auto error = only_error(with("llama-3.1-8b", "h100", {{"engine.max_model_len", "131073"}}));
  EXPECT_EQ(error.code, core::ErrorCode::kUsage);
  EXPECT_THAT(error.message, HasSubstr("expected 1 to 131072"));
}

TEST(MemoryLimits, RecurrentStatesMakeBlocksLongAndPrefixesForgotten) {
  const auto codes = [](const Deployment& out) {
    std::vector<std::string> all;
    for (const auto& warning : out.warnings) {
      all.push_back(warning.code);
    }
    return all;
  };
  const auto plain =
      resolved(with("qwen3-next-80b-a3b", "h200", {{"engine.tensor_parallel_size", "2"}}));
  ASSERT_TRUE(plain);
  // Derived in Capacity.AStateTakesABlockThatGrowsToHoldIt.
  EXPECT_EQ((*plain)->engine.block_size, core::Tokens(544));
  EXPECT_EQ((*plain)->engine.cache_groups.size(), 4U);
  EXPECT_FALSE((*plain)->engine.enable_prefix_caching);
  EXPECT_THAT(codes(**plain), testing::Contains("W-block-size"));
  EXPECT_THAT(codes(**plain), testing::Not(testing::Contains("W-prefix-caching")));
  const auto shared =
      resolved(with("qwen3-next-80b-a3b",
                    "h200",
                    {{"engine.tensor_parallel_size", "2"}, {"workload.prefix_len", "4000"}}));
  ASSERT_TRUE(shared);
  EXPECT_THAT(codes(**shared), testing::Contains("W-prefix-caching"));
  const auto asked = resolved(
      with("qwen3-next-80b-a3b",
           "h200",
           {{"engine.tensor_parallel_size", "2"}, {"engine.enable_prefix_caching", "true"}}));
  ASSERT_TRUE(asked);
  EXPECT_THAT(codes(**asked), testing::Contains("W-prefix-caching"));
}

TEST(MemoryLimits, From027OnPrefixCachingKeepsRecurrentStates) {
  const auto with_states = [](std::vector<Override> more) {
    more.push_back({"engine.version", "vllm@0.28"});
    more.push_back({"engine.tensor_parallel_size", "2"});
    return with("qwen3-next-80b-a3b", "h200", std::move(more));
  };
  const auto kept = resolved(with_states({}));
  ASSERT_TRUE(kept) << core::to_string(kept.error().front());
  EXPECT_TRUE((*kept)->engine.enable_prefix_caching);
  EXPECT_TRUE(keeps_states((*kept)->engine));
  const auto off = resolved(with_states({{"engine.enable_prefix_caching", "false"}}));
  ASSERT_TRUE(off);
  EXPECT_FALSE(keeps_states((*off)->engine));
  // Derived in Capacity.AStateTakesABlockThatGrowsToHoldIt: blocks of 544 tokens.
  EXPECT_EQ(only_error(with_states({{"engine.max_num_batched_tokens", "512"},
                                    {"engine.max_num_seqs", "64"}}))
                .field,
            "engine.max_num_batched_tokens");
  EXPECT_EQ(only_error(with_states({{"engine.long_prefill_token_threshold", "100"}})).field,
            "engine.long_prefill_token_threshold");
}

TEST(MemoryLimits, BlocksThatContradictTheUtilisationAreRefused) {
  const auto plain =
      resolved(with("llama-3.1-8b", "h100", {{"engine.gpu_memory_utilization", "0.8"}}));
  ASSERT_TRUE(plain);
  const std::string blocks = std::to_string((*plain)->engine.num_gpu_blocks.value());
  EXPECT_TRUE(resolved(
      with("llama-3.1-8b",
           "h100",
           {{"engine.gpu_memory_utilization", "0.8"}, {"engine.num_gpu_blocks", blocks}})));
  const auto error =
      only_error(with("llama-3.1-8b",
                      "h100",
                      {{"engine.gpu_memory_utilization", "0.8"}, {"engine.num_gpu_blocks", "77"}}));
  EXPECT_EQ(error.field, "engine.num_gpu_blocks");
  EXPECT_THAT(error.message, HasSubstr(blocks));
}

TEST(MemoryLimits, BatchLimitsMustAgree) {
  const auto seqs =
      only_error(with("llama-3.1-8b",
                      "h100",
                      {{"engine.max_num_seqs", "64"}, {"engine.max_num_batched_tokens", "32"}}));
  EXPECT_EQ(seqs.field, "engine.max_num_seqs");
  const auto whole = only_error(with(
      "llama-3.1-8b",
      "h100",
      {{"engine.enable_chunked_prefill", "false"}, {"engine.max_num_batched_tokens", "4096"}}));
  EXPECT_EQ(whole.field, "engine.max_num_batched_tokens");
  // vLLM raises its default to the longest request where prompts cannot be cut.
  const auto raised =
      resolved(with("llama-3.1-8b", "h100", {{"engine.enable_chunked_prefill", "false"}}));
  ASSERT_TRUE(raised);
  EXPECT_EQ((*raised)->engine.max_num_batched_tokens, core::Tokens(131072));
  // And its default number of sequences never exceeds the tokens of a step.
  const auto few =
      resolved(with("llama-3.1-8b", "h100", {{"engine.max_num_batched_tokens", "100"}}));
  ASSERT_TRUE(few);
  EXPECT_EQ((*few)->engine.max_num_seqs, 100);
}

TEST(MemoryLimits, AStepMayHandOutFewerTokensThanItHolds) {
  const auto with_scheduled = [](const char* version, const char* tokens) {
    return with("llama-3.1-8b",
                "h100",
                {{"engine.version", version},
                 {"engine.max_num_batched_tokens", "4096"},
                 {"engine.max_num_scheduled_tokens", tokens}});
  };
  const auto fewer = resolved(with_scheduled("vllm@0.18", "2048"));
  ASSERT_TRUE(fewer) << core::to_string(fewer.error().front());
  EXPECT_EQ((*fewer)->engine.max_num_scheduled_tokens, core::Tokens(2048));
  EXPECT_EQ((*fewer)->engine.max_num_batched_tokens, core::Tokens(4096));
  EXPECT_THAT(only_error(with_scheduled("vllm@0.18", "4097")).message, HasSubstr("above"));
  EXPECT_THAT(only_error(with_scheduled("vllm@0.15", "2048")).message, HasSubstr("does not exist"));
  // Alone it is the one budget of inference-sim, whose flag has the same name.
  const auto alone =
      resolved(with("llama-3.1-8b", "h100", {{"engine.max_num_scheduled_tokens", "2048"}}));
  ASSERT_TRUE(alone);
  EXPECT_EQ((*alone)->engine.max_num_batched_tokens, core::Tokens(2048));
  EXPECT_EQ((*alone)->engine.max_num_scheduled_tokens, core::Tokens(0));
  ASSERT_EQ((*alone)->warnings.size(), 1U);
  EXPECT_EQ((*alone)->warnings.front().code, "W-scheduled-tokens");
}

TEST(MemoryLimits, PerformanceModesChangeDefaultsAlone) {
  const auto in_mode = [](const char* mode, std::vector<Override> more) {
    more.push_back({"engine.version", "vllm@0.18"});
    more.push_back({"engine.performance_mode", mode});
    return with("llama-3.1-8b", "h100", std::move(more));
  };
  // An H100's 1024 sequences and 8192 tokens, twice.
  const auto fast = resolved(in_mode("throughput", {}));
  ASSERT_TRUE(fast) << core::to_string(fast.error().front());
  EXPECT_EQ((*fast)->engine.max_num_seqs, 2048);
  EXPECT_EQ((*fast)->engine.max_num_batched_tokens, core::Tokens(16384));
  const auto own = resolved(in_mode("throughput", {{"engine.max_num_seqs", "64"}}));
  ASSERT_TRUE(own);
  EXPECT_EQ((*own)->engine.max_num_seqs, 64);
  const auto quick = resolved(in_mode("interactivity", {}));
  ASSERT_TRUE(quick);
  EXPECT_EQ((*quick)->engine.max_num_seqs, 1024);
  EXPECT_EQ((*quick)->execution.cuda_graph_sizes[2], 3);
  EXPECT_EQ(
      only_error(with("llama-3.1-8b", "h100", {{"engine.performance_mode", "throughput"}})).field,
      "engine.performance_mode");
}

TEST(MemoryLimits, BatchedExpertsHaveASmallBudgetFrom020On) {
  const auto budget = [](const char* version, const char* backend) {
    const auto result = resolved(with("qwen3-30b-a3b",
                                      "h100",
                                      {{"engine.version", version},
                                       {"engine.data_parallel_size", "8"},
                                       {"engine.enable_expert_parallel", "true"},
                                       {"engine.all2all_backend", backend}}));
    return result ? (*result)->engine.max_num_batched_tokens : core::Tokens();
  };
  EXPECT_EQ(budget("vllm@0.19", "deepep_low_latency"), core::Tokens(8192));
  EXPECT_EQ(budget("vllm@0.20", "deepep_low_latency"), core::Tokens(256));
  EXPECT_EQ(budget("vllm@0.20", "deepep_high_throughput"), core::Tokens(8192));
}

}  // namespace
}  // namespace ridgeline::scenario

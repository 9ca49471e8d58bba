#include "sim/resolve.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "sim/engine_formats.hpp"
#include "sim/options.hpp"
#include "sim/scenario.hpp"

namespace ridgeline::sim {
namespace {

using testing::HasSubstr;

core::Result<std::unique_ptr<Resolved>> resolved(std::vector<Override> overrides) {
  auto loaded = load_scenario(std::nullopt, overrides, Purpose::kLook);
  if (!loaded) {
    return core::fail(loaded.error());
  }
  return resolve(std::move(*loaded));
}

std::vector<Override> with(std::string model, std::string gpu, std::vector<Override> more = {}) {
  more.push_back({.path = "model", .text = std::move(model)});
  more.push_back({.path = "gpu", .text = std::move(gpu)});
  return more;
}

core::Error only_error(const std::vector<Override>& overrides) {
  const auto result = resolved(overrides);
  if (result || result.error().size() != 1) {
    ADD_FAILURE() << "expected exactly one error";
    return {};
  }
  return result.error().front();
}

/// The newest profile is 0.27's: what later versions changed is not known.
TEST(Resolve, MarksEngineVersionsBeyondTheNewestProfile) {
  const auto codes = [](const char* version) {
    const auto result =
        resolved(with("llama-3.1-8b", "h100", {{.path = "engine.version", .text = version}}));
    std::string text;
    for (const auto& warning : result ? (*result)->warnings : core::Warnings()) {
      text += warning.code + " " + warning.message;
    }
    return result ? text : "refused";
  };
  EXPECT_EQ(codes("vllm@0.27"), "");
  EXPECT_EQ(codes("0.27.3"), "");
  EXPECT_THAT(codes("vllm@0.28"),
              testing::AllOf(testing::HasSubstr("W-unmeasured-engine-version"),
                             testing::HasSubstr("beyond vllm@0.27")));
  EXPECT_THAT(codes("vllm@1.2"), testing::HasSubstr("W-unmeasured-engine-version"));
}

TEST(Resolve, OrderOfRequestsAndAdapters) {
  const auto plain = resolved(with("llama-3.1-8b", "h100"));
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->engine.policy, engine::SchedulingPolicy::kFcfs);
  EXPECT_EQ((*plain)->engine.max_loras, 0);
  EXPECT_FALSE((*plain)->scenario.engine.max_loras);
  const auto result = resolved(with("llama-3.1-8b",
                                    "h100",
                                    {{.path = "engine.scheduling_policy", .text = "priority"},
                                     {.path = "engine.enable_lora", .text = "true"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->engine.policy, engine::SchedulingPolicy::kPriority);
  // vLLM's default, which the resolved scenario states.
  EXPECT_EQ((*result)->engine.max_loras, 1);
  EXPECT_EQ((*result)->scenario.engine.max_loras, 1);
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

TEST(Resolve, FillsTheDefaultsOfVllm) {
  const auto result = resolved(with("llama-3.1-8b", "h100"));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  const Resolved& out = **result;
  // vLLM on a GPU of 70 GiB or more that is no A100: 1024 sequences, 8192 tokens.
  EXPECT_EQ(out.engine.max_num_seqs, 1024);
  EXPECT_EQ(out.engine.max_num_batched_tokens, core::Tokens(8192));
  EXPECT_EQ(out.engine.max_model_len, core::Tokens(131072));
  EXPECT_TRUE(out.engine.async_scheduling);
  EXPECT_EQ(out.memory.utilization, 0.9);
  EXPECT_EQ(out.execution.cuda_graph_sizes.back(), 512);
  EXPECT_TRUE(out.warnings.empty());
  // What was derived stands in the scenario, and is marked so.
  EXPECT_EQ(out.scenario.engine.max_model_len, 131072);
  EXPECT_EQ(out.scenario.engine.num_gpu_blocks, out.engine.num_gpu_blocks.value());
  for (const auto& provenance : out.provenance) {
    if (provenance.path == "engine.max_model_len" || provenance.path == "engine.num_gpu_blocks") {
      EXPECT_EQ(provenance.origin, Provenance::Origin::kDerived) << provenance.path;
    }
    if (provenance.path == "engine.block_size") {
      EXPECT_EQ(provenance.origin, Provenance::Origin::kDefault);
    }
  }
}

TEST(Resolve, SmallGpusAndOldVersionsHaveOtherDefaults) {
  const auto result = resolved(with("llama-3.1-8b", "l40s", {{"engine.version", "vllm@0.11"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->engine.max_num_seqs, 256);
  EXPECT_EQ((*result)->engine.max_num_batched_tokens, core::Tokens(2048));
  EXPECT_FALSE((*result)->engine.async_scheduling);
}

TEST(Resolve, WarnsWhenTheCacheCannotHoldTheLongestRequest) {
  const auto result = resolved(with("llama-3.1-8b", "h100", {{"engine.num_gpu_blocks", "101"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  // 100 blocks of 16 tokens: the null block holds none.
  EXPECT_EQ((*result)->engine.max_model_len, core::Tokens(1600));
  ASSERT_EQ((*result)->warnings.size(), 1U);
  EXPECT_EQ((*result)->warnings.front().code, "W-max-model-len");
}

TEST(Resolve, ANetworkThatDoesNotFitIsInfeasible) {
  // 70.55e9 parameters in bf16 are 131.4 GiB, twice what 0.9 of an H100 holds.
  const auto error = only_error(with("llama-3.1-70b", "h100"));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "model");
  EXPECT_THAT(error.message, HasSubstr("does not fit"));
  EXPECT_THAT(error.message, HasSubstr("131.42 weights"));
  // Two hold 65.71 GiB of it each, of 71.27; sampling 1024 rows of 128,256 in the profile run takes
  // 7.34 more. With 64 rows it is 0.46.
  EXPECT_THAT(error.hint, HasSubstr("--tensor-parallel-size 4"));
  const auto few = only_error(with("llama-3.1-70b", "h100", {{"engine.max_num_seqs", "64"}}));
  EXPECT_THAT(few.hint, HasSubstr("--tensor-parallel-size 2"));
}

TEST(Resolve, TheHintNamesWhatSuffices) {
  // 67.66 GiB of FP8 weights fit one H100 with less of 7.34 GiB for 1024 sampled rows: 71.27
  // - 67.66 leaves 3.61 for rows and cache at 0.9, 7.57 at 0.95.
  const auto error = only_error(with("llama-3.1-70b-fp8", "h100"));
  EXPECT_THAT(error.hint, HasSubstr("it fits with --max-num-seqs "));
  // What it names does.
  EXPECT_TRUE(resolved(with("llama-3.1-70b-fp8",
                            "h100",
                            {{"engine.max_num_seqs", "64"},
                             {"engine.max_num_batched_tokens", "2048"},
                             {"engine.gpu_memory_utilization", "0.95"}})));
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

TEST(Resolve, LengthsThatVllmWouldNotStartWithAreNamed) {
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

TEST(Resolve, QuantizationIsVllms) {
  const auto online = resolved(with("llama-3.1-8b", "h100", {{"engine.quantization", "fp8"}}));
  ASSERT_TRUE(online) << core::to_string(online.error().front());
  EXPECT_EQ((*online)->network.precision.ffn, model::DType::kFp8);
  EXPECT_EQ((*online)->network.precision.kv, model::DType::kBf16);
  EXPECT_THAT(only_error(with("llama-3.1-8b", "h100", {{"engine.quantization", "awq"}})).message,
              HasSubstr("has no quantization_config"));
  EXPECT_THAT(
      only_error(with("llama-3.1-8b-fp8", "h100", {{"engine.quantization", "gptq"}})).message,
      HasSubstr("already"));
  EXPECT_TRUE(resolved(with("gpt-oss-20b", "h100", {{"engine.quantization", "mxfp4"}})));
  const auto half = resolved(with("llama-3.1-8b", "h100", {{"engine.dtype", "half"}}));
  ASSERT_TRUE(half);
  EXPECT_EQ((*half)->network.precision.attention, model::DType::kFp16);
  const auto plain_cache =
      resolved(with("llama-3.1-70b-fp8",
                    "h200",
                    {{"engine.max_num_seqs", "256"}, {"engine.kv_cache_dtype", "bfloat16"}}));
  ASSERT_TRUE(plain_cache);
  EXPECT_EQ((*plain_cache)->network.precision.kv, model::DType::kBf16);
}

TEST(EngineFormats, TheCacheTakesTheFormatOfItsWord) {
  EngineSection engine;
  model::ModelSpec network;
  network.precision.kv = model::DType::kFp8;
  for (const auto& [word, format] : {std::pair{"auto", model::DType::kFp8},
                                     std::pair{"bfloat16", model::DType::kBf16},
                                     std::pair{"fp8_e4m3", model::DType::kFp8}}) {
    engine.kv_cache_dtype = word;
    set_cache_format(engine, network);
    EXPECT_EQ(network.precision.kv, format) << word;
  }
}

TEST(Resolve, APatchMayBeAMap) {
  const auto patched = resolved(
      with("llama-3.1-8b", "h100", {{"set", "model.quantization_config={quant_method: fp8}"}}));
  ASSERT_TRUE(patched) << core::to_string(patched.error().front());
  EXPECT_EQ((*patched)->network.precision.ffn, model::DType::kFp8);
  EXPECT_EQ(
      only_error(with("llama-3.1-8b", "h100", {{"set", "model.quantization_config={a: "}})).field,
      "set.model.quantization_config");
  EXPECT_EQ(only_error(with("llama-3.1-8b", "h100", {{"engine.speculative_config", "{a: "}})).field,
            "engine.speculative_config");
}

TEST(Resolve, WhatIsNotPricedIsNamed) {
  const auto nodes =
      resolved(with("llama-3.1-70b", "h100", {{"engine.tensor_parallel_size", "16"}}));
  ASSERT_TRUE(nodes) << core::to_string(nodes.error().front());
  EXPECT_EQ((*nodes)->warnings.front().code, "W-unpriced-nodes");
  const auto images = resolved(with("qwen3-vl-8b", "h100", {{"workload.trace", "t.csv"}}));
  ASSERT_TRUE(images) << core::to_string(images.error().front());
  EXPECT_THAT((*images)->warnings,
              testing::Contains(testing::Field(&core::Warning::code, "W-unpriced-encoder")));
}

TEST(Resolve, AnExplicitLengthThatDoesNotFitIsInfeasible) {
  const auto error =
      only_error(with("llama-3.1-8b",
                      "h100",
                      {{"engine.num_gpu_blocks", "101"}, {"engine.max_model_len", "1601"}}));
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "engine.max_model_len");
  EXPECT_THAT(error.message, HasSubstr("1601 tokens"));
  EXPECT_TRUE(resolved(with("llama-3.1-8b",
                            "h100",
                            {{"engine.num_gpu_blocks", "101"}, {"engine.max_model_len", "1600"}})));
}

TEST(Resolve, ALengthBeyondTheNetworkIsBadInput) {
  const auto error = only_error(with("llama-3.1-8b", "h100", {{"engine.max_model_len", "131073"}}));
  EXPECT_EQ(error.code, core::ErrorCode::kUsage);
  EXPECT_THAT(error.message, HasSubstr("expected 1 to 131072"));
}

TEST(Resolve, TensorParallelSizeMustDivideAndExist) {
  const auto uneven =
      only_error(with("llama-3.1-70b", "h100", {{"engine.tensor_parallel_size", "3"}}));
  EXPECT_EQ(uneven.field, "engine.tensor_parallel_size");
  EXPECT_THAT(uneven.message, HasSubstr("64"));
}

TEST(Resolve, ExpertsAreHandedOutWholeOrInSlices) {
  const auto sliced =
      resolved(with("qwen3-30b-a3b", "h100", {{"engine.tensor_parallel_size", "2"}}));
  const auto whole = resolved(
      with("qwen3-30b-a3b",
           "h100",
           {{"engine.tensor_parallel_size", "2"}, {"engine.enable_expert_parallel", "true"}}));
  ASSERT_TRUE(sliced);
  ASSERT_TRUE(whole);
  EXPECT_TRUE((*whole)->execution.sharding.expert_parallel);
  // Half of 128 experts, or half of each: as many bytes.
  EXPECT_EQ((*whole)->memory.weights, (*sliced)->memory.weights);
  EXPECT_EQ((*whole)->engine.num_gpu_blocks, (*sliced)->engine.num_gpu_blocks);
  // The step waits for the busiest rank.
  domain::StepBatch batch;
  batch.num_decodes = 8;
  batch.decode_context = core::Tokens(8000);
  EXPECT_GT((*whole)->latency->predict(batch).gpu(), (*sliced)->latency->predict(batch).gpu());
}

TEST(Resolve, DataParallelRanksHoldTheirShareOfTheExperts) {
  const auto two = resolved(
      with("qwen3-30b-a3b",
           "h100",
           {{"engine.data_parallel_size", "2"}, {"engine.enable_expert_parallel", "true"}}));
  ASSERT_TRUE(two) << core::to_string(two.error().front());
  const auto one = resolved(with("qwen3-30b-a3b", "h100"));
  // Of 48 layers, 64 of 128 experts of 3 x 2048 x 768 weights of 2 bytes: 29.0 GB less.
  EXPECT_NEAR(((*one)->memory.weights - (*two)->memory.weights).value(),
              48.0 * 64 * 3 * 2048 * 768 * 2,
              1.0);
  EXPECT_EQ((*two)->memory.block, (*one)->memory.block);
  ASSERT_FALSE((*two)->warnings.empty());
  EXPECT_EQ((*two)->warnings.front().code, "W-data-parallel");
}

TEST(Resolve, DenseCopiesShareNothing) {
  const auto two = resolved(with("llama-3.1-8b", "h100", {{"engine.data_parallel_size", "2"}}));
  const auto one = resolved(with("llama-3.1-8b", "h100"));
  ASSERT_TRUE(two) << core::to_string(two.error().front());
  EXPECT_EQ((*two)->execution.sharding.gpus(), 2);
  EXPECT_EQ((*two)->engine.num_gpu_blocks, (*one)->engine.num_gpu_blocks);
  domain::StepBatch batch;
  batch.num_decodes = 8;
  batch.decode_context = core::Tokens(8000);
  EXPECT_EQ((*two)->latency->predict(batch).gpu(), (*one)->latency->predict(batch).gpu());
  EXPECT_THAT((*two)->warnings.front().message, HasSubstr("the others are loaded alike"));
}

TEST(Resolve, RecurrentStatesMakeBlocksLongAndPrefixesForgotten) {
  const auto codes = [](const Resolved& out) {
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
  const auto asked = resolved(
      with("qwen3-next-80b-a3b",
           "h200",
           {{"engine.tensor_parallel_size", "2"}, {"engine.enable_prefix_caching", "true"}}));
  ASSERT_TRUE(asked);
  EXPECT_THAT(codes(**asked), testing::Contains("W-prefix-caching"));
}

TEST(Resolve, PipelinesKeepAStepInEveryStage) {
  const auto two = resolved(
      with("llama-3.1-70b",
           "h100",
           {{"engine.tensor_parallel_size", "2"}, {"engine.pipeline_parallel_size", "2"}}));
  ASSERT_TRUE(two) << core::to_string(two.error().front());
  EXPECT_EQ((*two)->engine.pipeline_depth, 2);
  EXPECT_FALSE((*two)->engine.async_scheduling);
  EXPECT_EQ((*two)->latency->stages({}).size(), 2U);
}

TEST(Resolve, DraftsReachTheEngineAndTheStep) {
  const std::string config = "{method: mtp, num_speculative_tokens: 2, acceptance: [0.9, 0.5]}";
  const auto drafted = resolved(with("deepseek-v3",
                                     "h200",
                                     {{"engine.tensor_parallel_size", "8"},
                                      {"engine.speculative_config", config},
                                      {"seed", "7"}}));
  ASSERT_TRUE(drafted) << core::to_string(drafted.error().front());
  const Resolved& out = **drafted;
  EXPECT_EQ(out.engine.num_speculative_tokens, 2);
  EXPECT_EQ(out.engine.draft_acceptance, (std::vector<double>{0.9, 0.5}));
  EXPECT_EQ(out.engine.acceptance_seed, 7U);
  EXPECT_TRUE(out.engine.async_scheduling);
  // Its layer's weights and its cache take room.
  const auto plain = resolved(with("deepseek-v3", "h200", {{"engine.tensor_parallel_size", "8"}}));
  EXPECT_GT(out.memory.weights, (*plain)->memory.weights);
  EXPECT_EQ(out.memory.block, (*plain)->memory.block * (62.0 / 61.0));
}

TEST(Resolve, CutsThatCannotBeAreRefusedByName) {
  const auto field = [](const char* network, std::vector<Override> keys) {
    return only_error(with(network, "h100", std::move(keys))).field;
  };
  EXPECT_EQ(field("llama-3.1-8b", {{"engine.enable_expert_parallel", "true"}}),
            "engine.enable_expert_parallel");
  EXPECT_EQ(field("qwen3-30b-a3b", {{"engine.all2all_backend", "deepep_low_latency"}}),
            "engine.all2all_backend");
  EXPECT_EQ(field("qwen3-30b-a3b",
                  {{"engine.tensor_parallel_size", "2"},
                   {"engine.enable_expert_parallel", "true"},
                   {"latency.name", "v0"}}),
            "latency.name");
}

TEST(Resolve, BlocksThatContradictTheUtilisationAreRefused) {
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

TEST(Resolve, UnknownNamesAreAllReportedWithTheNearest) {
  const auto result = resolved(with("llama-3.1-8", "h10", {{"latency.name", "kernal"}}));
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().size(), 3U);
  EXPECT_THAT(result.error()[0].hint, HasSubstr("llama-3.1-8b"));
  EXPECT_THAT(result.error()[1].hint, HasSubstr("h100"));
  EXPECT_EQ(result.error()[2].field, "latency.name");
  EXPECT_THAT(result.error()[2].hint, HasSubstr("kernel"));
}

TEST(Resolve, PatchesChangeTheDocuments) {
  const auto result = resolved(
      with("llama-3.1-8b",
           "h100",
           {{"set", "model.num_hidden_layers=40"}, {"set", "hardware.mem_bandwidth=6.7TB/s"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->network.num_layers(), 40);
  EXPECT_EQ((*result)->gpu.mem_bandwidth.value(), 6.7e12);
}

TEST(Resolve, PatchesOfNothingAreRefusedUnderTheirOwnName) {
  const auto error =
      only_error(with("llama-3.1-8b", "h100", {{"set", "model.num_hidden_layer=40"}}));
  EXPECT_EQ(error.field, "set.model.num_hidden_layer");
  EXPECT_THAT(error.hint, HasSubstr("num_hidden_layers"));
  const auto wrong =
      only_error(with("llama-3.1-8b", "h100", {{"set", "hardware.mem_bandwidth=3"}}));
  EXPECT_EQ(wrong.field, "set.hardware.mem_bandwidth");
}

TEST(Resolve, BatchLimitsMustAgree) {
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

TEST(Resolve, SwitchesReachTheParts) {
  const auto result = resolved(with("llama-3.1-8b",
                                    "h100",
                                    {{"engine.kv_cache_dtype", "fp8"},
                                     {"engine.generation_config", "vllm"},
                                     {"engine.enforce_eager", "true"},
                                     {"request_path", "off"}}));
  ASSERT_TRUE(result) << core::to_string(result.error().front());
  EXPECT_EQ((*result)->network.precision.kv, model::DType::kFp8);
  EXPECT_FALSE((*result)->network.sampling.truncates());
  EXPECT_TRUE((*result)->execution.cuda_graph_sizes.empty());
  EXPECT_EQ((*result)->path.network, core::Duration());
}

}  // namespace
}  // namespace ridgeline::sim

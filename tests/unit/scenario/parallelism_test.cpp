#include "scenario/parallelism.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "unit/scenario/resolving.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

TEST(Parallelism, WhatIsNotPricedIsNamed) {
  const auto nodes =
      resolved(with("llama-3.1-70b", "h100", {{"engine.tensor_parallel_size", "16"}}));
  ASSERT_TRUE(nodes) << core::to_string(nodes.error().front());
  EXPECT_EQ((*nodes)->warnings.front().code, "W-unmeasured-nodes");
  EXPECT_THAT((*nodes)->warnings.front().message, HasSubstr("over the network at 50 GB/s a GPU"));
  // A rack of 72 is one domain of NVLink.
  const auto rack =
      resolved(with("llama-3.1-70b", "gb200", {{"engine.tensor_parallel_size", "16"}}));
  ASSERT_TRUE(rack) << core::to_string(rack.error().front());
  EXPECT_THAT(
      (*rack)->warnings,
      testing::Not(testing::Contains(testing::Field(&core::Warning::code, "W-unmeasured-nodes"))));
  const auto images = resolved(with("qwen3-vl-8b", "h100", {{"workload.trace", "t.csv"}}));
  ASSERT_TRUE(images) << core::to_string(images.error().front());
  EXPECT_THAT((*images)->warnings,
              testing::Contains(testing::Field(&core::Warning::code, "W-unpriced-encoder")));
}

TEST(Parallelism, TensorParallelSizeMustDivideAndExist) {
  const auto uneven =
      only_error(with("llama-3.1-70b", "h100", {{"engine.tensor_parallel_size", "3"}}));
  EXPECT_EQ(uneven.field, "engine.tensor_parallel_size");
  EXPECT_THAT(uneven.message, HasSubstr("64"));
}

TEST(Parallelism, ExpertsAreHandedOutWholeOrInSlices) {
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

TEST(Parallelism, DataParallelRanksHoldTheirShareOfTheExperts) {
  const auto two = resolved(
      with("qwen3-30b-a3b",
           "h100",
           {{"engine.data_parallel_size", "2"}, {"engine.enable_expert_parallel", "true"}}));
  ASSERT_TRUE(two) << core::to_string(two.error().front());
  const auto one = resolved(with("qwen3-30b-a3b", "h100"));
  // In 48 layers, 64 of 128 experts of 3 x 2048 x 768 weights of 2 bytes: 29.0 GB less.
  EXPECT_NEAR(((*one)->memory.weights - (*two)->memory.weights).value(),
              48.0 * 64 * 3 * 2048 * 768 * 2,
              1.0);
  EXPECT_EQ((*two)->memory.block, (*one)->memory.block);
  ASSERT_FALSE((*two)->warnings.empty());
  EXPECT_EQ((*two)->warnings.front().code, "W-data-parallel");
}

TEST(Parallelism, DenseCopiesShareNothing) {
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

TEST(Parallelism, PipelinesKeepAStepInEveryStage) {
  const auto two = resolved(
      with("llama-3.1-70b",
           "h100",
           {{"engine.tensor_parallel_size", "2"}, {"engine.pipeline_parallel_size", "2"}}));
  ASSERT_TRUE(two) << core::to_string(two.error().front());
  EXPECT_EQ((*two)->engine.pipeline_depth, 2);
  EXPECT_FALSE((*two)->engine.async_scheduling);
  EXPECT_EQ((*two)->latency->stages({}).size(), 2U);
}

TEST(Parallelism, DraftsReachTheEngineAndTheStep) {
  const std::string config = "{method: mtp, num_speculative_tokens: 2, acceptance: [0.9, 0.5]}";
  const auto drafted =
      resolved(with("deepseek-v3",
                    "h200",
                    {{"engine.tensor_parallel_size", "8"}, {"engine.speculative_config", config}}));
  ASSERT_TRUE(drafted) << core::to_string(drafted.error().front());
  const Deployment& out = **drafted;
  EXPECT_EQ(out.engine.num_speculative_tokens, 2);
  EXPECT_EQ(out.engine.draft_acceptance, (std::vector<double>{0.9, 0.5}));
  EXPECT_TRUE(out.engine.async_scheduling);
  // Its layer's weights and its cache take room.
  const auto plain = resolved(with("deepseek-v3", "h200", {{"engine.tensor_parallel_size", "8"}}));
  EXPECT_GT(out.memory.weights, (*plain)->memory.weights);
  EXPECT_EQ(out.memory.block, (*plain)->memory.block * (62.0 / 61.0));
}

TEST(Parallelism, CutsThatCannotBeAreRefusedByName) {
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

}  // namespace
}  // namespace ridgeline::scenario

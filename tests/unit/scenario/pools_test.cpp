#include "scenario/pools.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

core::Result<Resolved> resolved_pools(const std::string& cluster) {
  auto loaded = read_scenario(
      *document::parse_yaml("model: llama-3.1-8b\ngpu: h100\ncluster: " + cluster + "\n", "s.yaml"),
      {},
      Purpose::kLook);
  return loaded ? resolve(std::move(*loaded)) : core::fail(std::move(loaded.error()));
}

TEST(ResolvePools, GivesEachADeploymentOfItsOwn) {
  const auto resolved = resolved_pools(
      "{pools: [{name: a, instances: 2}, {name: b, instances: 1, gpu: a100, "
      "tensor_parallel_size: 2, version: vllm@0.10}]}");
  ASSERT_TRUE(resolved.has_value());
  ASSERT_EQ(resolved->pools.size(), 2);
  EXPECT_EQ(resolved->deployment, resolved->pools.front().deployment);
  EXPECT_EQ(resolved->run.cluster.instances, 3);
  const Deployment& second = *resolved->pools.back().deployment;
  EXPECT_EQ(second.section.gpu, "a100");
  EXPECT_EQ(second.execution.sharding.gpus(), 2);
  EXPECT_EQ(second.engine.profile.name, "vllm@0.9");
  EXPECT_NE(second.engine.num_gpu_blocks, resolved->deployment->engine.num_gpu_blocks);
  EXPECT_EQ(resolved->pools.front().section.models.front(), "llama-3.1-8b");
}

TEST(ResolvePools, NamesThePoolThatDoesNotFit) {
  const auto resolved = resolved_pools(
      "{pools: [{name: a, instances: 1}, {name: big, instances: 1, model: llama-3.1-70b}]}");
  ASSERT_FALSE(resolved.has_value());
  EXPECT_EQ(resolved.error().front().code, core::ErrorCode::kInfeasible);
  EXPECT_THAT(resolved.error().front().message, HasSubstr("pool 'big': "));
}

TEST(ResolvePools, NamesThePlaceOfAnUnknownModel) {
  const auto resolved = resolved_pools("{pools: [{name: a, instances: 1, model: lama-3.1-8b}]}");
  ASSERT_FALSE(resolved.has_value());
  EXPECT_EQ(resolved.error().front().field, "cluster.pools[0].model");
}

TEST(ResolvePools, RefusesPoolsWhoseKvCannotMove) {
  const std::string apart = "disaggregation: {prefill_instances: 1}";
  const auto resolved =
      resolved_pools("{" + apart + ", pools: [{name: p, instances: 1}, {name: d, instances: 1, " +
                     "model: qwen3-8b, block_size: 32, kv_cache_dtype: fp8}]}");
  ASSERT_FALSE(resolved.has_value());
  std::vector<std::string> messages;
  for (const core::Error& error : resolved.error()) {
    messages.push_back(error.message);
  }
  EXPECT_THAT(
      messages,
      ElementsAre(HasSubstr("network"), HasSubstr("kv_cache_dtype"), HasSubstr("block_size")));
  EXPECT_TRUE(resolved_pools("{" + apart +
                             ", pools: [{name: p, instances: 1}, {name: d, instances: 1, gpu: "
                             "h200}]}")
                  .has_value());
}

TEST(PoolsNode, ReadBackGivesTheSamePools) {
  const auto resolved = resolved_pools(
      "{pools: [{name: a, instances: 2, num_gpu_blocks: 500}, {name: b, instances: "
      "1, gpu: a100}, {name: c, instances: 1, gpu: h200, max_num_seqs: 7}]}");
  ASSERT_TRUE(resolved.has_value());
  auto again = read_scenario(to_node(resolved->scenario()), {}, Purpose::kLook);
  ASSERT_TRUE(again.has_value()) << core::to_string(again.error().front());
  const auto twice = resolve(std::move(*again));
  ASSERT_TRUE(twice.has_value()) << core::to_string(twice.error().front());
  for (std::size_t i = 0; i < resolved->pools.size(); ++i) {
    const Deployment& one = *resolved->pools[i].deployment;
    const Deployment& other = *twice->pools[i].deployment;
    EXPECT_EQ(one.section.gpu, other.section.gpu);
    EXPECT_EQ(one.engine.num_gpu_blocks, other.engine.num_gpu_blocks);
    EXPECT_EQ(one.engine.max_num_seqs, other.engine.max_num_seqs);
    EXPECT_EQ(one.engine.max_num_batched_tokens, other.engine.max_num_batched_tokens);
  }
}

}  // namespace
}  // namespace ridgeline::scenario

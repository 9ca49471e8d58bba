#include "scenario/sections/pools.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

document::Node pools_yaml(const std::string& text) {
  return *document::parse_yaml(text, "pools.yaml");
}

std::vector<std::string> pool_lines(const core::Errors& errors) {
  std::vector<std::string> lines;
  for (const core::Error& error : errors) {
    lines.push_back(core::to_string(error));
  }
  return lines;
}

ClusterSection with_pools(const std::string& text) {
  ClusterSection cluster;
  cluster.pools = pools_yaml(text);
  return cluster;
}

std::vector<std::string> problems_of_pools(const std::string& text) {
  const auto pools = read_pools(with_pools(text), {});
  return pools ? std::vector<std::string>() : pool_lines(pools.error());
}

/// What is wrong with a scenario whose cluster has these keys.
std::vector<std::string> problems_of_cluster(const std::string& cluster,
                                             const std::string& top =
                                                 "model: llama-3.1-8b\n"
                                                 "gpu: h100\n") {
  const auto loaded = read_scenario(
      *document::parse_yaml(top + "cluster: " + cluster + "\n", "s.yaml"), {}, Purpose::kLook);
  return loaded ? std::vector<std::string>() : pool_lines(loaded.error());
}

TEST(ReadPools, AnEngineOfItsOwnCountsServers) {
  const auto pools =
      read_pools(with_pools("[{name: decode, instances: 2, engine: {data_parallel_size: 8}}]"), {});
  ASSERT_TRUE(pools.has_value());
  EXPECT_EQ(pools->front().instances, 16);
  EXPECT_EQ(pools->front().deployment.engine.data_parallel_size, 8);
  EXPECT_EQ(pools->front().node.find("instances")->as_integer(), 16);
}

TEST(ReadPools, TakesTheScenariosDeploymentWithWhatEachStates) {
  DeploymentSection deployment;
  deployment.model = "llama-3.1-8b";
  deployment.gpu = "h100";
  deployment.engine.gpu_memory_utilization = 0.8;
  const auto pools = read_pools(
      with_pools(
          "[{name: big, instances: 2, gpu: h200, tensor_parallel_size: 2, weight: 3, spread: "
          "0.1, price_per_hour: 2.5, models: [chat], adapters: [a, b], num_gpu_blocks: 99}, "
          "{name: plain, instances: 1}]"),
      deployment);
  ASSERT_TRUE(pools.has_value());
  const PoolSection& big = pools->front();
  EXPECT_EQ(big.instances, 2);
  EXPECT_EQ(big.deployment.model, "llama-3.1-8b");
  EXPECT_EQ(big.deployment.gpu, "h200");
  EXPECT_EQ(big.deployment.engine.tensor_parallel_size, 2);
  EXPECT_EQ(big.deployment.engine.num_gpu_blocks, 99);
  EXPECT_EQ(big.deployment.engine.gpu_memory_utilization, std::nullopt);
  EXPECT_EQ(big.weight, 3.0);
  EXPECT_EQ(big.spread, 0.1);
  EXPECT_EQ(big.price_per_hour, 2.5);
  EXPECT_THAT(big.models, ElementsAre("chat"));
  EXPECT_THAT(*big.adapters, ElementsAre("a", "b"));
  EXPECT_EQ(pools->back().deployment.gpu, "h100");
  EXPECT_EQ(pools->back().deployment.engine.gpu_memory_utilization, 0.8);
  EXPECT_EQ(pools->back().adapters, std::nullopt);
}

TEST(ReadPools, SaysWhatIsWrongWithEach) {
  EXPECT_THAT(problems_of_pools("[]"), ElementsAre(HasSubstr("an empty list, expected a list")));
  EXPECT_THAT(problems_of_pools("[{name: a, instances: 0}]"),
              ElementsAre(HasSubstr("cluster.pools[0].instances: 0 is out of range")));
  EXPECT_THAT(problems_of_pools("[{name: a, instances: 1}, {name: a, instances: 1}]"),
              ElementsAre(HasSubstr("cluster.pools[1].name: 'a' is listed twice")));
  EXPECT_THAT(problems_of_pools("[{name: a, instances: 1, gpus: h100}]"),
              ElementsAre(HasSubstr("did you mean 'gpu'?")));
  EXPECT_THAT(problems_of_pools("[{name: a, instances: 1, models: chat}]"),
              ElementsAre(HasSubstr("expected a list of names")));
  EXPECT_THAT(problems_of_pools("[{instances: 4000, name: a}, {instances: 97, name: b}]"),
              ElementsAre(HasSubstr("4097 instances in all are out of range")));
}

TEST(CheckPools, RefusesWhatSaysTheSameTwiceOrWouldDoNothing) {
  EXPECT_THAT(problems_of_cluster("{instances: 2, pools: [{name: a, instances: 1}]}"),
              ElementsAre(HasSubstr("cluster.instances: stands beside cluster.pools")));
  EXPECT_THAT(problems_of_cluster("{router: dynamo, pools: [{name: a, instances: 1, weight: 2}, "
                                  "{name: b, instances: 1}]}"),
              ElementsAre(HasSubstr("weight would be ignored: the policy dynamo reads none")));
  EXPECT_THAT(problems_of_cluster("{pools: [{name: a, instances: 1, gpu: h100}]}", ""),
              ElementsAre(HasSubstr("cluster.pools[0].model: missing")));
  EXPECT_TRUE(
      problems_of_cluster("{pools: [{name: a, instances: 1, gpu: h100, model: llama-3.1-8b}]}", "")
          .empty());
}

}  // namespace
}  // namespace ridgeline::scenario

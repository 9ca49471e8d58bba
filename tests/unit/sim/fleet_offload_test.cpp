#include "sim/fleet_offload.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/kv_offload.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/offload_summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::sim {
namespace {

/// Three prompts of 1,000 tokens in turn, and a KV cache for one.
scenario::Resolved with_tiers(const std::vector<scenario::Override>& own) {
  std::vector<scenario::Override> all = {{.path = "model", .text = "llama-3.1-8b"},
                                         {.path = "gpu", .text = "h100"},
                                         {.path = "engine.num_gpu_blocks", .text = "70"},
                                         {.path = "workload.num_prompts", .text = "20"},
                                         {.path = "workload.max_concurrency", .text = "1"},
                                         {.path = "workload.prefix_len", .text = "960"},
                                         {.path = "workload.num_prefixes", .text = "3"},
                                         {.path = "workload.input_len", .text = "40"},
                                         {.path = "workload.output_len", .text = "10"}};
  all.insert(all.end(), own.begin(), own.end());
  auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kRun);
  return *scenario::resolve(std::move(*loaded));
}

TEST(FleetOffload, IsThereWhereATierHasRoom) {
  const cluster::KvOffload* part = nullptr;
  const auto none = with_tiers({});
  EXPECT_FALSE(has_kv_tiers(none));
  EXPECT_FALSE(offload_maker(none, *none.deployment->latency, part).has_value());
  const auto host = with_tiers({{.path = "cluster.kv_offload.cpu_bytes_to_use", .text = "1GiB"}});
  EXPECT_EQ(host.run.cluster.instances, 1);
  EXPECT_TRUE(offload_maker(host, *host.deployment->latency, part).has_value());
}

TEST(FleetOffload, BlocksAndBytesAreThoseOfTheNetwork) {
  const auto tiers = with_tiers({{.path = "cluster.kv_offload.cpu_bytes_to_use", .text = "1GiB"},
                                 {.path = "cluster.kv_offload.offload_block_size", .text = "32"}});
  const auto source = tiers.workload.open();
  const auto outcome = simulate(tiers, **source, {});
  ASSERT_TRUE(outcome.has_value());
  const metrics::OffloadSummary& offload = *outcome->summary.fleet->offload;
  EXPECT_EQ(offload.block_tokens, 32);
  ASSERT_EQ(offload.tiers.size(), 1U);
  const metrics::TierSummary& host = offload.tiers.front();
  // 131,072 bytes a token.
  EXPECT_EQ(host.capacity_blocks, (1 << 30) / (32 * 131'072));
  EXPECT_GT(host.hit_tokens, 0);
  EXPECT_EQ(host.bytes_read, host.hit_tokens * 131'072);
  EXPECT_EQ(offload.hit_tokens, host.hit_tokens);
  EXPECT_EQ(offload.loads, host.loads);
}

}  // namespace
}  // namespace ridgeline::sim

#include "sim/fleet_disaggregation.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::sim {
namespace {

scenario::Resolved resolved(const std::vector<scenario::Override>& own) {
  std::vector<scenario::Override> all = {{.path = "model", .text = "llama-3.1-8b"},
                                         {.path = "gpu", .text = "h100"},
                                         {.path = "workload.num_prompts", .text = "20"},
                                         {.path = "workload.request_rate", .text = "5"},
                                         {.path = "workload.input_len", .text = "100"},
                                         {.path = "workload.output_len", .text = "10"}};
  all.insert(all.end(), own.begin(), own.end());
  auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kRun);
  return *scenario::resolve(std::move(*loaded));
}

TEST(FleetDisaggregation, IsThereWhereInstancesComputePromptsAlone) {
  const cluster::Disaggregation* part = nullptr;
  const auto together = resolved({{.path = "cluster.instances", .text = "3"}});
  EXPECT_FALSE(is_disaggregated(together));
  EXPECT_FALSE(disaggregation_maker(together, part).has_value());
  const auto apart = resolved({{.path = "cluster.instances", .text = "3"},
                               {.path = "cluster.disaggregation.prefill_instances", .text = "1"}});
  EXPECT_TRUE(disaggregation_maker(apart, part).has_value());
}

TEST(FleetDisaggregation, BlocksAreSentWhole) {
  const auto apart = resolved({{.path = "cluster.instances", .text = "3"},
                               {.path = "cluster.disaggregation.prefill_instances", .text = "1"}});
  const auto source = apart.workload.open();
  const auto outcome = simulate(apart, **source, {});
  ASSERT_TRUE(outcome.has_value());
  const auto& transfers = *outcome->summary.fleet->transfers;
  EXPECT_EQ(transfers.count, 20);
  // 7 blocks of 16 tokens of 131,072 bytes.
  EXPECT_EQ(transfers.bytes, 20 * 7 * 16 * 131'072);
  EXPECT_EQ(outcome->summary.fleet->instances.front().requests, 20);
}

}  // namespace
}  // namespace ridgeline::sim

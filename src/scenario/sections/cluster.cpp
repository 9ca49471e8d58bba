#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr double kMaxInstances = 4096;
constexpr std::string_view kInstances = "cluster.instances";

// clang-format off
constexpr auto kClusterOptions = std::to_array<Option>({
    {.path = kInstances, .flag = "instances",
     .lowest = 1, .highest = kMaxInstances, .unset = "one, without a gateway",
     .help = "Instances of the deployment behind a gateway, each with its own GPUs and KV cache", .example = "8",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.instances; }},
    {.path = "cluster.price_per_hour", .flag = "price-per-hour", .lowest = 0, .highest = 1e9, .unset = "none: no costs",
     .help = "Price of an instance per hour, in any currency", .example = "2.5",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.price_per_hour; }},
});
// clang-format on

}  // namespace

std::span<const Option> cluster_options() {
  return kClusterOptions;
}

void check_cluster(Findings& findings) {
  if (!findings.scenario().run.cluster.instances) {
    for (const Option& option : options()) {
      if (option.path.starts_with("cluster.") && findings.given(option.path)) {
        findings.ignored(option.path, "there is no gateway without cluster.instances");
      }
    }
  } else if (findings.scenario().deployment.engine.data_parallel_size > 1) {
    findings.problem(kInstances,
                     "instances of several data-parallel ranks are not simulated",
                     "count each rank as an instance");
  }
}

}  // namespace ridgeline::scenario

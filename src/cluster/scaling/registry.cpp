#include "cluster/scaling/registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/scaling/policies/policies.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/reader.hpp"

namespace ridgeline::scaling {
namespace {

constexpr std::array<std::string_view, 6> kOfHpa = {
    "metric", "metric_quantile", "metric_window", "target", "tolerance", "stabilization_window"};
constexpr std::array<std::string_view, 7> kOfKeda = {"metric",
                                                     "metric_quantile",
                                                     "metric_window",
                                                     "target",
                                                     "tolerance",
                                                     "stabilization_window",
                                                     "cooldown"};
constexpr std::array<std::string_view, 1> kOfWva = {"analyzer"};
constexpr std::array<std::string_view, 1> kOfPlanner = {"optimization_target"};
constexpr std::array<std::string_view, 3> kOfSchedule = {"replicas_at", "cron", "cron_start"};

// One line per policy.
constexpr auto kScalers = std::to_array<ScalerEntry>({
    {"hpa",
     "replicas so that a metric per replica is on target",
     "Kubernetes horizontal pod autoscaler, autoscaling/v2",
     core::Duration::seconds(15),
     kOfHpa,
     false,
     make_hpa},
    {"keda",
     "as hpa, and down to no replica while nothing is asked",
     "KEDA 2",
     core::Duration::seconds(15),
     kOfKeda,
     false,
     make_keda},
    {"wva",
     "one replica up or down by the spare capacity of those that are not saturated",
     "llm-d workload-variant autoscaler b08b1c7 (February 2026)",
     core::Duration::seconds(30),
     kOfWva,
     true,
     make_wva},
    {"dynamo-planner",
     "one replica up or down by KV tokens held and queued",
     "NVIDIA Dynamo 2a6da14 (August 2026), the planner's load-based decision",
     core::Duration::seconds(5),
     kOfPlanner,
     false,
     make_dynamo_planner},
    {"schedule",
     "so many replicas from given instants on",
     "cron",
     core::Duration::seconds(15),
     kOfSchedule,
     false,
     make_schedule},
});

}  // namespace

bool ScalerEntry::reads_setting(std::string_view setting) const {
  return std::ranges::find(reads, setting) != reads.end();
}

std::span<const ScalerEntry> scalers() {
  return kScalers;
}

core::Result<const ScalerEntry*> find_scaler(const std::string& name) {
  const auto* const found = std::ranges::find(kScalers, name, &ScalerEntry::name);
  if (found != kScalers.end()) {
    return found;
  }
  std::vector<std::string> names;
  for (const ScalerEntry& entry : kScalers) {
    names.emplace_back(entry.name);
  }
  const auto meant = document::nearest(name, names);
  return core::fail(core::Error{.message = fmt::format("no autoscaler '{}'", name),
                                .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                              : fmt::format("one of {}", fmt::join(names, ", "))});
}

}  // namespace ridgeline::scaling

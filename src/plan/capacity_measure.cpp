#include "plan/capacity_measure.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/math.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "metrics/slo.hpp"
#include "plan/capacity.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/question.hpp"
#include "plan/target.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {
namespace {

Targets targets_of(const scenario::SloSection& slo) {
  const auto& names = metrics::kStatisticNames;
  const auto* const named = std::ranges::find(names, slo.statistic.value_or("p99"));
  const auto statistic = static_cast<metrics::Statistic>(named - names.begin());
  Targets targets;
  const auto add = [&](metrics::Metric metric, const std::optional<core::Duration>& limit) {
    if (limit) {
      targets.push_back(percentile_target(metric, statistic, *limit));
    }
  };
  add(metrics::Metric::kTtft, slo.ttft);
  add(metrics::Metric::kTpot, slo.tpot);
  add(metrics::Metric::kE2e, slo.e2e);
  return targets;
}

core::Result<std::optional<document::Node>> find(const scenario::Resolved& resolved,
                                                 std::int64_t requests,
                                                 const std::atomic<bool>& interrupt) {
  const Targets targets = targets_of(resolved.run.slo);
  if (targets.empty()) {
    return core::fail(core::Error{.field = "slo",
                                  .message = "is missing: a capacity is a rate within targets",
                                  .hint = "--slo-ttft 500ms --slo-tpot 50ms"});
  }
  const auto demand = demand_of(resolved);
  if (!demand) {
    return core::fail(demand.error());
  }
  const FluidInputs inputs{.deployment = *resolved.deployment,
                           .model = *resolved.deployment->latency,
                           .demand = *demand};
  const auto ranks = core::real(std::max<std::int64_t>(1, resolved.workload.ranks));
  const LoadRange range = load_range(inputs, targets, ranks, Limits{}.max_utilisation);
  const auto capacity =
      find_capacity(resolved,
                    targets,
                    {.requests = std::min(requests, demand->trace_requests.value_or(requests)),
                     .guess = range.start(),
                     .ceiling = range.highest,
                     .seed = static_cast<std::uint64_t>(resolved.run.seed),
                     .trace_rate = demand->rate,
                     .warm_up = std::min(demand->warm_up, requests / 4),
                     .is_closed_loop = demand->clients.has_value()},
                    interrupt);
  if (!capacity) {
    return core::fail(capacity.error());
  }
  if (!*capacity) {
    return std::nullopt;
  }
  const Capacity& found = **capacity;
  document::MapBuilder map;
  if (demand->clients) {
    map.add("capacity_clients", found.load);
  }
  map.add("capacity_rps", found.requests_per_second)
      .add("sampling_pct", found.sd * 100.0)
      .add(demand->clients ? "fluid_clients" : "fluid_rps", range.guess)
      .add("limit",
           found.limit == Limit::kTarget ? targets[found.target].name()
           : found.limit == Limit::kUtilisation
               ? std::string("utilisation")
               : std::string("none meets " + targets[found.target].name()))
      .add("unstable", found.unstable)
      .add("basis", scenario::basis_words(resolved))
      .add("requests", found.requests);
  return map.build();
}

}  // namespace

sweep::Measure capacity_measure(std::int64_t requests) {
  return {
      .name = "capacity",
      .settings = document::MapBuilder().add("measure", "capacity").add("requests", requests),
      .find = [requests](const scenario::Resolved& resolved, const std::atomic<bool>& interrupt) {
        return find(resolved, requests, interrupt);
      }};
}

}  // namespace ridgeline::plan

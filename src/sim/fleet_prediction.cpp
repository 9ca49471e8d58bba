#include "sim/fleet_prediction.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/gateway.hpp"
#include "cluster/pools.hpp"
#include "cluster/step_time_predictor.hpp"
#include "core/check.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "routing/predictor.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/router.hpp"
#include "sim/fleet_pools.hpp"
#include "sim/operations.hpp"

namespace ridgeline::sim {
namespace {

cluster::InstancePool predicted_pool(const scenario::Deployment& deployment,
                                     std::int64_t instances) {
  return {.instances = instances,
          .options = &deployment.engine,
          .model = deployment.latency.get(),
          .host = &deployment.host};
}

}  // namespace

std::shared_ptr<const routing::LatencyPredictor> predictor_of(const scenario::Resolved& resolved) {
  const scenario::RouterSection& section = resolved.run.cluster.router;
  const auto router = routing::find_router(scenario::router_name(section));
  const auto setup = scenario::router_setup(section);
  RIDGELINE_CHECK(router.has_value() && setup.has_value(), "a scenario's rules look its policy up");
  if (!(*router)->predicts) {
    return nullptr;
  }
  std::vector<cluster::InstancePool> pools;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    pools.push_back(predicted_pool(*pool.deployment, places_of_pool(resolved, pool.section)));
  }
  if (pools.empty()) {
    pools.push_back(predicted_pool(*resolved.deployment, 0));
  }
  if (pools.size() == 1) {
    pools.front().instances = num_places(resolved);  // With those that an autoscaler adds.
  }
  const auto table = (*router)->table();
  return std::make_shared<cluster::StepTimePredictor>(
      std::move(pools),
      cluster::PredictorError{.bias = setup->number(table, "predictorBias"),
                              .sd = setup->number(table, "predictorSd")},
      static_cast<std::uint64_t>(resolved.run.seed));
}

cluster::Gateway::TargetsOf targets_of(const scenario::Resolved& resolved,
                                       domain::Tenants& tenants) {
  return [slo = resolved.run.slo, &tenants](const domain::Request& request) {
    const domain::Tenant& tenant = tenants[tenants.of(request.label_set)];
    const auto milliseconds = [](std::optional<core::Duration> own,
                                 std::optional<core::Duration> all) {
      return own.value_or(all.value_or(core::Duration())).to_milliseconds();
    };
    routing::LatencyTargets targets;
    targets.ttft_ms = milliseconds(tenant.ttft, slo.ttft);
    targets.tpot_ms = milliseconds(tenant.tpot, slo.tpot);
    return targets;
  };
}

}  // namespace ridgeline::sim

#include "sim/fleet_admission.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/admission_part.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"
#include "domain/tenants.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/admission.hpp"
#include "scenario/sections/tenants.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

domain::Tenants tenants_of(const scenario::Resolved& resolved, const workload::Source& source) {
  auto listed = scenario::read_tenants(resolved.run.cluster.tenants);
  RIDGELINE_CHECK(listed.has_value(), "a scenario's rules read its tenants");
  return {std::move(*listed), source.label_sets(), [&source](std::int32_t label) {
            return source.labels().name(label);
          }};
}

std::optional<cluster::PartMaker> admission_maker(const scenario::Resolved& resolved,
                                                  domain::Tenants& tenants,
                                                  const cluster::AdmissionPart*& part) {
  const admission::Settings settings = scenario::admission_settings(resolved.run.cluster.admission);
  bool limits = false;
  for (std::size_t i = 0; i < tenants.num_listed(); ++i) {
    const domain::Tenant& tenant = tenants[domain::TenantId(static_cast<domain::TenantId::Rep>(i))];
    limits = limits || tenant.requests_per_minute || tenant.tokens_per_minute;
  }
  if (settings.policy == "always" && !settings.flow_control && !limits) {
    return std::nullopt;
  }
  const auto seed = static_cast<std::uint64_t>(resolved.run.seed);
  return cluster::PartMaker{.kind = cluster::PartKind::kAdmission,
                            .make = [settings, seed, &tenants, &part](cluster::Fleet& fleet) {
                              auto made = std::make_unique<cluster::AdmissionPart>(
                                  fleet, settings, tenants, seed);
                              part = made.get();
                              return made;
                            }};
}

core::Errors tenant_errors(const scenario::Resolved& resolved,
                           const workload::Source& source,
                           const domain::Tenants& tenants) {
  const auto& stated = resolved.run.cluster.tenants;
  core::Errors errors;
  if (!stated || scenario::tenants_are_open(stated)) {
    return errors;
  }
  if (source.label_sets() == nullptr) {
    errors.push_back({.field = "cluster.tenants",
                      .message = "would be ignored: no request of the workload has a tenant",
                      .where = stated->where(),
                      .hint = "a trace, or a workload file whose clients have a `tenant`"});
  }
  std::vector<std::string> listed;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const domain::TenantId id(static_cast<domain::TenantId::Rep>(i));
    if (i < tenants.num_listed()) {
      listed.push_back(tenants[id].name);
    } else if (!tenants.is_without_tenant(id)) {
      const auto meant = document::nearest(tenants[id].name, listed);
      errors.push_back(
          {.field = "cluster.tenants",
           .message = fmt::format("the workload has requests of '{}', which is not listed",
                                  tenants[id].name),
           .where = stated->where(),
           .hint =
               meant ? fmt::format("did you mean '{}'?", *meant) : "list it, or tenants: auto"});
    }
  }
  return errors;
}

void fill_admission(const scenario::Resolved& resolved,
                    const cluster::AdmissionPart* part,
                    metrics::FleetSummary& fleet) {
  if (part == nullptr) {
    return;
  }
  const admission::Settings settings = scenario::admission_settings(resolved.run.cluster.admission);
  if (!fleet.admission) {
    fleet.admission.emplace();
  }
  fleet.admission->policy = settings.policy;
  fleet.admission->flow_control = settings.flow_control;
  fleet.admission->admitted = part->totals().admitted;
  if (settings.eviction) {
    fleet.admission->evicted = part->totals().evicted;
  }
  for (std::size_t i = 0; i < admission::kNumReasons; ++i) {
    fleet.admission->rejected.push_back(
        {.reason = admission::kReasonNames[i], .requests = part->totals().rejected[i]});
  }
}

}  // namespace ridgeline::sim

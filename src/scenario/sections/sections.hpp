#pragma once

#include <span>

#include "scenario/findings.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {

/// A section of a scenario that stands in a file of its own: its options, by which it is read,
/// written, shown and set by flags, and what its keys must satisfy.
struct SectionEntry {
  std::span<const Option> (*options)();
  void (*check)(Findings& findings);  ///< After all sections were read without a problem.
};

/// The sections below `cluster`, in the order in which a result shows them. sections.cpp has one
/// line each.
[[nodiscard]] std::span<const SectionEntry> cluster_sections();

// One pair per file of this folder.
[[nodiscard]] std::span<const Option> cluster_options();
void check_cluster(Findings& findings);
[[nodiscard]] std::span<const Option> pool_options();
void check_pools(Findings& findings);
[[nodiscard]] std::span<const Option> router_options();
void check_router(Findings& findings);
[[nodiscard]] std::span<const Option> gateway_options();
void check_gateway(Findings& findings);
[[nodiscard]] std::span<const Option> admission_options();
void check_admission(Findings& findings);
[[nodiscard]] std::span<const Option> tenant_options();
void check_tenants(Findings& findings);
[[nodiscard]] std::span<const Option> disaggregation_options();
void check_disaggregation(Findings& findings);
[[nodiscard]] std::span<const Option> kv_transfer_options();
void check_kv_transfer(Findings& findings);
[[nodiscard]] std::span<const Option> kv_offload_options();
void check_kv_offload(Findings& findings);
[[nodiscard]] std::span<const Option> autoscaling_options();
void check_autoscaling(Findings& findings);
[[nodiscard]] std::span<const Option> rolling_update_options();
void check_rolling_update(Findings& findings);
[[nodiscard]] std::span<const Option> faults_options();
void check_faults(Findings& findings);

}  // namespace ridgeline::scenario

#include "scenario/sections/sections.hpp"

#include <array>
#include <span>

namespace ridgeline::scenario {

std::span<const SectionEntry> cluster_sections() {
  static constexpr auto kSections = std::to_array<SectionEntry>({
      {pool_options, check_pools},
      {cluster_options, check_cluster},
      {router_options, check_router},
      {gateway_options, check_gateway},
      {admission_options, check_admission},
      {tenant_options, check_tenants},
      {disaggregation_options, check_disaggregation},
      {kv_transfer_options, check_kv_transfer},
      {kv_offload_options, check_kv_offload},
      {autoscaling_options, check_autoscaling},
      {rolling_update_options, check_rolling_update},
      {faults_options, check_faults},
  });
  return kSections;
}

}  // namespace ridgeline::scenario

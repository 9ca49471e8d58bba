#include "scenario/sections/sections.hpp"

#include <array>
#include <span>

namespace ridgeline::scenario {

std::span<const SectionEntry> cluster_sections() {
  static constexpr auto kSections = std::to_array<SectionEntry>({
      {cluster_options, check_cluster},
      {router_options, check_router},
      {gateway_options, check_gateway},
      {autoscaling_options, check_autoscaling},
      {faults_options, check_faults},
  });
  return kSections;
}

}  // namespace ridgeline::scenario

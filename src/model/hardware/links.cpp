#include <cstdint>

#include "core/check.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {

const char* name(Link link) {
  switch (link) {
    case Link::kNvlink:
      return "NVLink";
    case Link::kPcie:
      return "PCIe";
    case Link::kNetwork:
      return "network";
  }
  RIDGELINE_CHECK(false, "a link without a name");
}

LinkView over_link(const GpuSpec& gpu, std::int64_t ranks) {
  LinkView view{.link = gpu.has_nvlink ? Link::kNvlink : Link::kPcie, .gpu = gpu};
  if (ranks <= gpu.link_domain) {
    return view;
  }
  view.gpu.has_nvlink = false;
  view.link = ranks <= gpu.gpus_per_node ? Link::kPcie : Link::kNetwork;
  view.gpu.link_bandwidth = view.link == Link::kPcie ? gpu.pcie_bandwidth : gpu.network_bandwidth;
  return view;
}

bool knows_link(const GpuSpec& gpu, std::int64_t ranks) {
  return ranks == 1 || over_link(gpu, ranks).gpu.link_bandwidth.value() > 0.0;
}

}  // namespace ridgeline::hardware

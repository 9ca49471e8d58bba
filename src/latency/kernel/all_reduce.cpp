#include "latency/kernel/all_reduce.hpp"

#include <algorithm>
#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr std::int64_t kFewRanks = 4;

Cost network(core::Bytes message, core::Seconds time) {
  return {.time = time,
          .flops = {},
          .bytes = message,
          .kind = domain::Bottleneck::kNetwork,
          .losing = {}};
}

Cost over_pcie(core::Bytes message,
               core::Bytes ring,
               std::int64_t ranks,
               const ExchangeConstants& common,
               core::BytesPerSecond link) {
  if (ranks == 2) {
    return network(message,
                   common.pcie_two_ranks + message / (link * common.pcie_two_ranks_efficiency));
  }
  const double efficiency = ranks <= kFewRanks ? common.pcie_bus_efficiency_up_to_4_ranks
                                               : common.pcie_bus_efficiency_above_4_ranks;
  return network(message,
                 common.pcie_two_ranks + common.pcie_rank * static_cast<double>(ranks - 2) +
                     ring / (link * efficiency));
}

bool is_one_shot(core::Bytes message, std::int64_t ranks, const ExchangeConstants& common) {
  if (ranks == 2) {
    return message < common.custom;
  }
  return message <=
         (ranks <= kFewRanks ? common.one_shot_up_to_4_ranks : common.one_shot_above_4_ranks);
}

}  // namespace

Cost all_reduce(core::Bytes message,
                std::int64_t ranks,
                const AllReduceConstants& constants,
                const ExchangeConstants& common,
                const hardware::GpuSpec& gpu) {
  const core::BytesPerSecond link = gpu.link_bandwidth;
  const auto n = static_cast<double>(ranks);
  // What a rank sends in a reduce-scatter followed by an all-gather.
  const core::Bytes ring = message * (2.0 * (n - 1.0) / n);
  if (!gpu.has_nvlink) {
    return over_pcie(message, ring, ranks, common, link);
  }
  if (is_one_shot(message, ranks, common)) {
    return network(message,
                   constants.one_shot + constants.one_shot_rank * (n - 2.0) +
                       message * (n - 1.0) / (link * constants.one_shot_efficiency));
  }
  if (message < common.custom) {
    const core::Seconds floor = common.two_shot_floor + common.two_shot_floor_rank * n;
    const core::Seconds moved = constants.two_shot + ring / (link * constants.two_shot_efficiency);
    Cost cost = network(message, std::max(floor, moved));
    cost.losing = LosingSide{.time = std::min(floor, moved), .kind = domain::Bottleneck::kNetwork};
    return cost;
  }
  const double efficiency = ranks > kFewRanks && constants.nccl_switch_efficiency
                                ? *constants.nccl_switch_efficiency
                                : constants.nccl_efficiency;
  return network(message,
                 constants.nccl + ring / (link * efficiency) +
                     message * constants.nccl_memory_passes / gpu.mem_bandwidth);
}

}  // namespace ridgeline::latency::kernel

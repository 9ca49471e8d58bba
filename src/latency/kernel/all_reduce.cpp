#include "latency/kernel/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"

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
               const PcieConstants& pcie,
               core::BytesPerSecond link) {
  if (ranks == 2) {
    return network(message, pcie.two_ranks + message / (link * pcie.two_ranks_efficiency));
  }
  const double efficiency =
      ranks <= kFewRanks ? pcie.bus_efficiency_up_to_4_ranks : pcie.bus_efficiency_above_4_ranks;
  return network(
      message,
      pcie.two_ranks + pcie.rank * static_cast<double>(ranks - 2) + ring / (link * efficiency));
}

/// Every rank adds up a part and gathers the others': two passes over the message, which hide in
/// part behind the ranks' waiting for each other. Or, as the first constants have it, a ring's
/// bytes after that wait.
Cost two_shot(core::Bytes message,
              core::Bytes ring,
              double ranks,
              const AllReduceConstants& constants,
              const ExchangeConstants& common,
              const hardware::GpuSpec& gpu) {
  constexpr double kPasses = 2.0;
  // Among soft maxima with exponents 1 to 3 and both volumes, the one that is nearest to all
  // tables.
  constexpr double kHidden = 1.5;
  const core::BytesPerSecond rate = gpu.link_bandwidth * constants.two_shot_efficiency;
  const double pace = latency_pace(constants, gpu);
  if (constants.two_shot_rank) {
    const core::Seconds start =
        (constants.two_shot + *constants.two_shot_rank * (ranks - 2.0)) * pace;
    return network(message, soft_max(start, message * kPasses / rate, kHidden));
  }
  const core::Seconds floor = common.two_shot_floor + common.two_shot_floor_rank * ranks;
  const core::Seconds moved = constants.two_shot * pace + ring / rate;
  Cost cost = above_floor(floor, moved, domain::Bottleneck::kNetwork, {}, message);
  cost.side = domain::Bottleneck::kNetwork;
  return cost;
}

bool is_one_shot(core::Bytes message, std::int64_t ranks, const ExchangeConstants& common) {
  return ranks == 2 || message <= (ranks <= kFewRanks ? common.one_shot_up_to_4_ranks
                                                      : common.one_shot_above_4_ranks);
}

}  // namespace

AllReduceWay all_reduce_way(core::Bytes message,
                            std::int64_t ranks,
                            const ExchangeConstants& common) {
  if (message >= common.custom) {
    return AllReduceWay::kNccl;
  }
  return is_one_shot(message, ranks, common) ? AllReduceWay::kOneShot : AllReduceWay::kTwoShot;
}

double latency_pace(const AllReduceConstants& constants, const hardware::GpuSpec& gpu) {
  return constants.clock_ghz ? *constants.clock_ghz / gpu.clock_ghz : 1.0;
}

core::Seconds nccl(core::Bytes sent,
                   core::Bytes added,
                   double gain,
                   const AllReduceConstants& constants,
                   const hardware::GpuSpec& gpu) {
  const core::BytesPerSecond link = gpu.link_bandwidth * gain;
  const double pace = latency_pace(constants, gpu);
  const core::Seconds time = constants.nccl * pace + sent / (link * constants.nccl_efficiency);
  if (!constants.nccl_large) {
    return time;
  }
  const LargeMessages& large = *constants.nccl_large;
  return std::min(time,
                  large.start * pace + sent / (link * large.efficiency) +
                      added * large.memory_passes / gpu.mem_bandwidth);
}

core::Bytes fused_limit(std::int64_t ranks, const hardware::GpuSpec& gpu) {
  struct Limit {
    std::string_view architecture;
    std::int64_t ranks;
    double mebibytes;
  };
  constexpr auto kLimits = std::to_array<Limit>({{"hopper", 2, 64.0},
                                                 {"hopper", 4, 2.0},
                                                 {"hopper", 8, 0.5},
                                                 {"blackwell", 2, 64.0},
                                                 {"blackwell", 4, 32.0},
                                                 {"blackwell", 8, 1.0}});
  constexpr double kBytesPerMebibyte = 1048576.0;
  for (const Limit& limit : kLimits) {
    if (gpu.has_nvlink && limit.architecture == gpu.architecture && limit.ranks == ranks) {
      return core::Bytes(limit.mebibytes * kBytesPerMebibyte);
    }
  }
  return {};
}

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
    return over_pcie(message, ring, ranks, common.pcie, link);
  }
  if (gpu.datasheet_only) {
    // No library's limits: the least that any algorithm moves, which grows with the message.
    return network(message, ring / link);
  }
  switch (all_reduce_way(message, ranks, common)) {
    case AllReduceWay::kOneShot:
      return network(message,
                     (constants.one_shot + constants.one_shot_rank * (n - 2.0)) *
                             latency_pace(constants, gpu) +
                         message * (n - 1.0) / (link * constants.one_shot_efficiency));
    case AllReduceWay::kTwoShot:
      return two_shot(message, ring, n, constants, common, gpu);
    case AllReduceWay::kNccl:
      break;
  }
  const double gain = ranks > kFewRanks && constants.nccl_switch_gain && !is_before_hopper(gpu)
                          ? *constants.nccl_switch_gain
                          : 1.0;
  return network(message, nccl(ring, message, gain, constants, gpu));
}

std::optional<SymmMemLimits> symm_mem_limits(std::int64_t ranks, const hardware::GpuSpec& gpu) {
  struct Row {
    std::string_view architecture;
    std::int64_t ranks;
    double own_mebibytes;
    double symm_mem_mebibytes;
  };
  constexpr auto kRows = std::to_array<Row>({{"hopper", 2, 64.0, 64.0},
                                             {"hopper", 4, 32.0, 32.0},
                                             {"hopper", 6, 0.5, 64.0},
                                             {"hopper", 8, 0.25, 64.0},
                                             {"blackwell", 2, 2.0, 8.0},
                                             {"blackwell", 4, 2.0, 32.0},
                                             {"blackwell", 6, 1.0, 128.0},
                                             {"blackwell", 8, 1.0, 128.0}});
  constexpr double kBytesPerMebibyte = 1048576.0;
  for (const Row& row : kRows) {
    if (gpu.has_nvlink && row.architecture == gpu.architecture && row.ranks == ranks) {
      return SymmMemLimits{.own = core::Bytes(row.own_mebibytes * kBytesPerMebibyte),
                           .symm_mem = core::Bytes(row.symm_mem_mebibytes * kBytesPerMebibyte)};
    }
  }
  return std::nullopt;
}

Cost symm_mem_all_reduce(core::Bytes message,
                         std::int64_t ranks,
                         const AllReduceConstants& constants,
                         const ExchangeConstants& common,
                         const hardware::GpuSpec& gpu) {
  const auto limits = symm_mem_limits(ranks, gpu);
  ExchangeConstants own = common;
  if (limits) {
    own.custom = std::min(own.custom, limits->own);
  }
  const Cost without = all_reduce(message, ranks, constants, own, gpu);
  if (!limits || message < own.custom || message >= limits->symm_mem) {
    return without;
  }
  const auto n = static_cast<double>(ranks);
  const core::Bytes ring = message * (2.0 * (n - 1.0) / n);
  const Cost shots = two_shot(message, ring, n, constants, common, gpu);
  return shots.time < without.time ? shots : without;
}

}  // namespace ridgeline::latency::kernel

#include "latency/kernel/all_to_all.hpp"

#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr double kExchangeBytesPer16Bit = 2.0;
/// Switches add nothing up here.
constexpr double kOwnLink = 1.0;

Cost exchanged(core::Bytes volume, core::Seconds time) {
  return {.time = time,
          .flops = {},
          .bytes = volume,
          .kind = domain::Bottleneck::kNetwork,
          .losing = {}};
}

}  // namespace

model::AllToAll between_nodes(const model::AllToAll& shape, std::int64_t nodes) {
  model::AllToAll carried = shape;
  if (shape.backend == model::AllToAllBackend::kDeepEpHighThroughput) {
    carried.ranks = nodes;
  }
  return carried;
}

core::Bytes all_to_all_volume(const model::AllToAll& shape, std::int64_t rows) {
  return core::Bytes(real(rows) * shape.copies() * real(shape.width) * shape.bytes_per_element);
}

Cost all_to_all(const model::AllToAll& shape,
                std::int64_t rows,
                const AllReduceConstants& constants,
                const hardware::GpuSpec& gpu) {
  const core::Bytes volume = all_to_all_volume(shape, rows);
  if (shape.backend == model::AllToAllBackend::kDeepEpLowLatency) {
    return exchanged(volume,
                     constants.one_shot * latency_pace(constants, gpu) +
                         volume / (gpu.link_bandwidth * constants.one_shot_efficiency));
  }
  return exchanged(volume, nccl(volume, core::Bytes(), kOwnLink, constants, gpu));
}

Cost point_to_point(std::int64_t rows,
                    std::int64_t width,
                    const AllReduceConstants& constants,
                    const hardware::GpuSpec& gpu) {
  const core::Bytes volume(real(rows) * real(width) * kExchangeBytesPer16Bit);
  // NCCL's start is that of a ring over all ranks; a pair needs what one custom message does.
  const double efficiency =
      constants.nccl_large ? constants.nccl_large->efficiency : constants.nccl_efficiency;
  return exchanged(volume,
                   constants.one_shot * latency_pace(constants, gpu) +
                       volume / (gpu.link_bandwidth * efficiency));
}

}  // namespace ridgeline::latency::kernel

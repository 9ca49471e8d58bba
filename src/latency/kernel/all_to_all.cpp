#include "latency/kernel/all_to_all.hpp"

#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr double kExchangeBytesPer16Bit = 2.0;

Cost exchanged(core::Bytes volume, core::Seconds start, core::BytesPerSecond rate) {
  return {.time = start + volume / rate,
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
  const bool direct = shape.backend == model::AllToAllBackend::kDeepEpLowLatency;
  return exchanged(
      all_to_all_volume(shape, rows),
      direct ? constants.one_shot : constants.nccl,
      gpu.link_bandwidth * (direct ? constants.one_shot_efficiency : constants.nccl_efficiency));
}

Cost point_to_point(std::int64_t rows,
                    std::int64_t width,
                    const AllReduceConstants& constants,
                    const hardware::GpuSpec& gpu) {
  // NCCL's start is that of a ring over all ranks; a pair needs what one custom message does.
  return exchanged(core::Bytes(real(rows) * real(width) * kExchangeBytesPer16Bit),
                   constants.one_shot,
                   gpu.link_bandwidth * constants.nccl_efficiency);
}

}  // namespace ridgeline::latency::kernel

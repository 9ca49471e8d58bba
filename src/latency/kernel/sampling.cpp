#include "latency/kernel/sampling.hpp"

#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

Cost sampling(const SamplingShape& shape,
              std::int64_t sequences,
              const SamplingConstants& constants,
              const hardware::GpuSpec& gpu) {
  const double logits = static_cast<double>(sequences) * static_cast<double>(shape.vocab);
  // Sorting and counting run at the speed of the SMs, not of memory.
  const double slower = static_cast<double>(constants.reference_sms) *
                        constants.reference_clock_ghz /
                        (static_cast<double>(gpu.num_sms) * gpu.clock_ghz);
  const core::Bytes bytes = constants.bytes_per_logit * logits;
  const core::Seconds streamed = bytes / gpu.mem_bandwidth;
  core::Seconds time = streamed;
  if (shape.truncates) {
    time += (constants.truncation + constants.truncation_per_logit * logits) * slower;
  }
  if (shape.penalises) {
    time += constants.penalty_per_logit * logits * slower;
  }
  return {.time = time,
          .flops = {},
          .bytes = bytes,
          .kind = Terms()
                      .add(domain::Bottleneck::kMemory, streamed)
                      .add(domain::Bottleneck::kCompute, time - streamed)
                      .largest(),
          .losing = {},
          .side = domain::Bottleneck::kMemory};
}

}  // namespace ridgeline::latency::kernel

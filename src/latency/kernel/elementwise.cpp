#include "latency/kernel/elementwise.hpp"

#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

// Bytes per token and element; activations are 16 bit. Hidden: two norms with residual read two
// rows and write two (16), and the rows between them and the GEMMs are touched once more (4). FFN:
// gate and up are read, their product is written. QKV: read and written by rotary embedding and KV
// write.
constexpr double kHiddenBytes = 20.0;
constexpr double kFfnBytes = 6.0;
constexpr double kQkvBytes = 4.0;
// Quantising reads 16 bit and writes 8: the hidden row before each half of the layer, the product
// once.
constexpr double kQuantisedHiddenBytes = 6.0;
constexpr double kQuantisedFfnBytes = 3.0;

}  // namespace

Cost elementwise(const model::LayerElementwise& shape,
                 std::int64_t tokens,
                 const StepConstants& constants,
                 const hardware::GpuSpec& gpu) {
  double per_token = kHiddenBytes * real(shape.hidden) + kFfnBytes * real(shape.ffn_width) +
                     kQkvBytes * real(shape.qkv_width);
  if (shape.quantised_activations) {
    per_token +=
        kQuantisedHiddenBytes * real(shape.hidden) + kQuantisedFfnBytes * real(shape.ffn_width);
  }
  const core::Bytes bytes(real(tokens) * per_token);
  return {.time = bytes * constants.elementwise_traffic_factor /
                  (gpu.mem_bandwidth * constants.elementwise_bandwidth_efficiency),
          .flops = {},
          .bytes = bytes,
          .kind = domain::Bottleneck::kMemory,
          .losing = {}};
}

}  // namespace ridgeline::latency::kernel

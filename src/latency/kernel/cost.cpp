#include "latency/kernel/cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/math.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr double kBytesPer32Bit = 4.0;
constexpr double kBytesPer4Bit = 0.5;
/// FP32 products run as TF32, at half the rate of BF16 (NVIDIA A100, H100 and L40S datasheets).
constexpr double kTf32Share = 0.5;

}  // namespace

MatmulFormat matmul_format(model::DType weights, const hardware::GpuSpec& gpu) {
  if (weights == model::DType::kFp32) {
    return {.weight_bytes = kBytesPer32Bit,
            .activation_bytes = kBytesPer32Bit,
            .peak = gpu.peak_bf16 * kTf32Share,
            .products = "tf32"};
  }
  // Tables of INT4's times were fitted by its elements alone.
  const bool is_int4 = weights == model::DType::kInt4 || weights == model::DType::kInt4With8Bit;
  const double bytes = is_int4 ? kBytesPer4Bit : model::bytes_per_element(weights);
  core::FlopsPerSecond peak_8bit;
  // 4-bit floats multiply as such on GPUs with units for them, MXFP4 weights with FP8 activations.
  const bool fp4 = weights == model::DType::kNvfp4 || weights == model::DType::kMxfp4;
  if (fp4 && gpu.peak_fp4.value() > 0.0) {
    const bool both = weights == model::DType::kNvfp4;
    return {.weight_bytes = bytes,
            .activation_bytes = both ? bytes : 1.0,
            .peak = both ? gpu.peak_fp4 : gpu.peak_fp8,
            .is_8bit = true,
            .products = both ? "fp4" : "fp8"};
  }
  if (weights == model::DType::kFp8 || weights == model::DType::kFp8Block ||
      weights == model::DType::kMxfp8 || weights == model::DType::kInt4With8Bit) {
    peak_8bit = gpu.peak_fp8;
  } else if (weights == model::DType::kInt8) {
    peak_8bit = gpu.peak_int8;
  }
  if (peak_8bit.value() > 0.0) {
    return {.weight_bytes = bytes,
            .activation_bytes = is_int4 ? 1.0 : bytes,
            .peak = peak_8bit,
            .is_8bit = true,
            .products = weights == model::DType::kInt8 ? "int8" : "fp8"};
  }
  return {.weight_bytes = bytes, .activation_bytes = kBytesPer16Bit, .peak = gpu.peak_bf16};
}

bool is_before_hopper(const hardware::GpuSpec& gpu) {
  return gpu.architecture == "ampere" || gpu.architecture == "ada";
}

core::Seconds soft_max(core::Seconds a, core::Seconds b, double exponent) {
  const core::Seconds larger = std::max(a, b);
  if (!(larger.value() > 0.0)) {
    return larger;
  }
  const double ratio = std::min(a, b) / larger;
  // The exponents of most attention kernels, in a hundredth of the time: prompts that were cut or
  // came back are priced in nearly every step of a full server.
  if (exponent == 1.0) {
    return larger * (1.0 + ratio);
  }
  if (exponent == 2.0) {
    return larger * std::sqrt(1.0 + ratio * ratio);
  }
  return larger * core::pow(1.0 + core::pow(ratio, exponent), 1.0 / exponent);
}

domain::Bottleneck roofline_side(core::Flops flops,
                                 core::Bytes bytes,
                                 core::FlopsPerSecond peak,
                                 core::BytesPerSecond bandwidth) {
  const bool memory = flops.value() * bandwidth.value() < bytes.value() * peak.value();
  return memory ? domain::Bottleneck::kMemory : domain::Bottleneck::kCompute;
}

Cost above_floor(core::Seconds floor,
                 core::Seconds worked,
                 domain::Bottleneck kind,
                 core::Flops flops,
                 core::Bytes bytes) {
  Cost cost{.time = worked,
            .flops = flops,
            .bytes = bytes,
            .kind = kind,
            .losing = LosingSide{.time = floor, .kind = domain::Bottleneck::kOverhead}};
  if (worked < floor) {
    std::swap(cost.time, cost.losing->time);
    std::swap(cost.kind, cost.losing->kind);
  }
  return cost;
}

}  // namespace ridgeline::latency::kernel

#include "latency/kernel/quantised_rows.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

#include "core/math.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

bool may_be_written_quantised(model::DType weights) {
  return weights == model::DType::kFp8 || weights == model::DType::kNvfp4;
}

std::int64_t rows_written_quantised(const model::Operator& product,
                                    const KernelChoice& choice,
                                    const std::optional<model::AllReduce>& exchange,
                                    const hardware::GpuSpec& gpu) {
  const auto* gemm = std::get_if<model::Gemm>(&product.shape);
  if (gemm == nullptr || !may_be_written_quantised(gemm->weights) ||
      !matmul_format(gemm->weights, gpu).is_8bit) {
    return 0;
  }
  if (product.name == "o_proj") {
    return choice.fuse_attn_quant ? std::numeric_limits<std::int64_t>::max() : 0;
  }
  const bool follows_norm = product.name == "qkv_proj" || product.name == "gate_up_proj";
  return follows_norm && exchange
             ? static_cast<std::int64_t>(fused_limit(exchange->ranks, gpu).value() /
                                         (kBytesPer16Bit * core::real(exchange->width)))
             : 0;
}

}  // namespace ridgeline::latency::kernel

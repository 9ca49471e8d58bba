#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// A set of constants, and the column it came from as an Explanation names it: "kernel (h100)",
/// "kernel (h100, same architecture)" or "kernel (generic)".
template <class Set>
struct Sourced {
  Set values;
  std::string source;
};

/// The column of GPUs that have none of their own nor a relative's.
inline constexpr const char* kGenericColumn = "generic";

/// The constants that price one GPU.
struct Calibration {
  StepConstants step;
  SamplingConstants sampling;
  AttentionConstants attention;
  ExchangeConstants exchange;
  std::int64_t coarse_experts = 0;
  /// The column that the GPU takes: its own, a relative's, "generic" or "datasheet".
  std::string column;
  Sourced<GemmConstants> gemm_16bit;
  Sourced<GemmConstants> gemm_8bit;
  /// Absent: gemm_8bit.
  std::optional<Sourced<GemmConstants>> gemm_8bit_block = std::nullopt;
  /// Absent: gemm_8bit_block.
  std::optional<Sourced<GemmConstants>> gemm_8bit_deep_gemm = std::nullopt;
  std::optional<Sourced<GemmConstants>> gemm_nvfp4 = std::nullopt;
  Sourced<DecodeAttentionConstants> decode_attention;
  /// Absent: decode_attention.
  std::optional<Sourced<DecodeAttentionConstants>> decode_attention_8bit = std::nullopt;
  Sourced<PrefillAttentionConstants> prefill_attention;
  Sourced<ExpertConstants> experts_16bit_coarse;
  Sourced<ExpertConstants> experts_16bit_fine;
  Sourced<ExpertConstants> experts_8bit_coarse;
  Sourced<ExpertConstants> experts_8bit_fine;
  /// Absent: the 8-bit sets.
  std::optional<Sourced<ExpertConstants>> experts_8bit_block = std::nullopt;
  std::optional<Sourced<ExpertConstants>> experts_nvfp4 = std::nullopt;
  std::optional<Sourced<ExpertConstants>> experts_mxfp4_mxfp8 = std::nullopt;
  /// Absent: the 16-bit sets.
  std::optional<Sourced<ExpertConstants>> experts_weight_only = std::nullopt;
  std::optional<Sourced<ExpertConstants>> experts_mxfp4 = std::nullopt;
  Sourced<AllReduceConstants> all_reduce;
  /// FlashInfer's, with the norm (KernelChoice::fuse_allreduce_rms): no table holds it. On
  /// Blackwell, where vLLM's own moves data slowly, it moves them as all GPUs' tables have in
  /// common and begins as vLLM's own; absent: all_reduce.
  std::optional<Sourced<AllReduceConstants>> all_reduce_fused = std::nullopt;

  /// Constants for such weights; `format` is what the GPU makes of them. FP8 in blocks may be
  /// DeepGEMM's.
  [[nodiscard]] const Sourced<GemmConstants>& gemm(model::DType weights,
                                                   const MatmulFormat& format,
                                                   bool deep_gemm = false) const;
  /// Constants for a cache with elements of that type.
  [[nodiscard]] const Sourced<DecodeAttentionConstants>& decode(model::DType kv) const;
  /// Constants for a network with that many experts of such weights; `format` is what the GPU makes
  /// of them.
  [[nodiscard]] const Sourced<ExpertConstants>& experts(
      model::DType weights,
      const MatmulFormat& format,
      std::int64_t experts,
      MoeBackend backend = MoeBackend::kAuto) const;
};

/// Each set from the column of that name, else from that of its base, else from the first of that
/// architecture, else generic.
[[nodiscard]] Calibration calibrate(const Constants& constants, const hardware::GpuSpec& gpu);

/// Whether the GPU's facts suffice for the formulas: each that is missing is an error.
[[nodiscard]] core::Result<void> check_gpu(const hardware::GpuSpec& gpu,
                                           const model::Sharding& sharding);

}  // namespace ridgeline::latency::kernel

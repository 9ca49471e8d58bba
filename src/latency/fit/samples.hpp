#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/units.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/gemm.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::fit {

/// Which kernel multiplies FP8 in blocks, where a table names several.
enum class BlockGemmSource : std::uint8_t { kDefault, kDeepGemm, kFlashInfer };
struct GemmCall {
  kernel::GemmShape shape;
  model::DType weights = model::DType::kBf16;
  BlockGemmSource source = BlockGemmSource::kDefault;
};
struct DecodeAttentionCall {
  kernel::DecodeCall call;
  model::Attention shape;
};
struct PrefillAttentionCall {
  kernel::PrefillCall call;
  model::Attention shape;
};
struct ExpertCall {
  model::ExpertGemm shape;
  std::int64_t tokens = 0;
  /// Cuts the width; shape.width is what is left. Absent: the table is of widths alone.
  std::optional<std::int64_t> tensor_parallel = std::nullopt;
  bool is_weight_only = false;  ///< Products in 16 bits, whatever the GPU can do.
  /// Experts that get a token. Absent: as aiconfigurator's collector spreads tokens.
  std::optional<double> experts_hit = std::nullopt;
};
struct AllReduceCall {
  core::Bytes message;
  std::int64_t ranks = 2;
};

/// One measured call of one operator.
struct Sample {
  std::variant<GemmCall, DecodeAttentionCall, PrefillAttentionCall, ExpertCall, AllReduceCall> call;
  core::Seconds time;
};

/// The operators that tables are read for; each has a member of Sample::call.
enum class TableKind : std::uint8_t {
  kGemm,
  kDecodeAttention,
  kPrefillAttention,
  kExperts,
  kAllReduce,
};

/// What one file holds: every call that the kernel model can express.
struct SampleTable {
  std::string file;     ///< Its name, without the folder.
  std::string version;  ///< vLLM's version, "0.24.0"; "profiler" for tools/profiler's.
  hardware::GpuSpec gpu;
  TableKind kind = TableKind::kGemm;
  std::vector<Sample> samples;
};

}  // namespace ridgeline::latency::fit

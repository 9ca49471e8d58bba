#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "latency/fit/samples.hpp"
#include "latency/kernel/constants.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::fit {

/// One set of every kind, with the values under trial in the one that is being fitted.
struct Trial {
  kernel::GemmConstants gemm;
  kernel::DecodeAttentionConstants decode_attention;
  kernel::PrefillAttentionConstants prefill_attention;
  kernel::ExpertConstants experts;
  kernel::AllReduceConstants all_reduce;
  kernel::ExchangeConstants exchange;
  /// Passes over 16-bit and 8-bit activations that some tables' 8-bit GEMM rows contain: the
  /// quantisation. The model prices it with the element-wise kernels, so a column does not hold it.
  double quantisation_passes = 0.0;
  /// What tables of block FP8 hold of rows that are no multiple of four: two kernels that pad them
  /// (vLLM: padded_cutlass in fp8_utils.py). Steps in CUDA graphs have none, and of longer ones it
  /// is a hundredth at most, so that a column does not hold it.
  core::Seconds padding;
};

/// Where the search begins; the best end of all is taken.
inline constexpr std::size_t kStarts = 2;

/// A constant as kernel.yaml writes it. Equal bounds: not fitted, written as it is.
struct Constant {
  std::string_view key;  ///< "fixed_us", "tiles_by_rows.efficiency_large"
  double lowest = 0.0;
  double highest = 0.0;
  std::array<double, kStarts> start = {};
  void (*apply)(Trial& trial, double value) = nullptr;
  std::string_view also = {};  ///< A second key with the same value.
  bool is_written = true;
};

/// A way to compute an operator, and the constants it has.
struct Form {
  std::string_view name;
  std::vector<Constant> constants;
  std::string_view architecture = {};  ///< Architecture of the only GPUs that have it; empty: all.
  /// For sets that serve other GPUs than those they are fitted on, and for these alone; an operator
  /// without such a form takes the others there too.
  bool is_common = false;
};

/// A set of kernel.yaml's columns.
struct Operator {
  std::string_view key;    ///< "gemm_16bit"
  std::string_view title;  ///< "GEMM BF16"
  TableKind kind = TableKind::kGemm;
  std::vector<Form> forms;  ///< The better one in sample is taken.
  /// Whether a row shows the kernel as a network runs it.
  bool (*selects)(const Sample& sample, const hardware::GpuSpec& gpu) = nullptr;
  double loss_scale = 0.04;  ///< Relative errors well above it pull less.
  /// vLLM's own kernels, written and tuned anew from version to version: GPUs are compared on
  /// tables of one. The others are libraries'.
  bool is_vllms_own = false;
};
[[nodiscard]] std::span<const Operator> operators();

/// The kernel model's own time of a call.
[[nodiscard]] core::Seconds predict(const Trial& trial,
                                    const Sample& sample,
                                    const hardware::GpuSpec& gpu);

/// A trial with these values; what the form does not have keeps the neutral default.
[[nodiscard]] Trial trial_of(const Form& form, std::span<const double> values);

}  // namespace ridgeline::latency::fit

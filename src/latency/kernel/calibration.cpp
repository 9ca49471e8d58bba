#include "latency/kernel/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/datasheet_column.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

const Column* find_column(const Constants& constants, const std::string& name) {
  const auto found = std::find_if(constants.columns.begin(),
                                  constants.columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == constants.columns.end() ? nullptr : &*found;
}

/// Blackwell's workstation parts, without NVLink, are another chip than its data-centre parts.
bool is_chip_of(const Column& column, const hardware::GpuSpec& gpu) {
  if (column.architecture != gpu.architecture || gpu.architecture != "blackwell") {
    return column.architecture == gpu.architecture;
  }
  const auto fitted = hardware::find_gpu(column.name);
  return fitted && fitted->has_nvlink == gpu.has_nvlink;
}

const Column* find_relative(const Constants& constants, const hardware::GpuSpec& gpu) {
  const auto found = std::find_if(constants.columns.begin(),
                                  constants.columns.end(),
                                  [&](const Column& column) { return is_chip_of(column, gpu); });
  return found == constants.columns.end() ? nullptr : &*found;
}

/// Data sheets state peaks at one clock and clocks at another: parts of one chip lie between 0.83
/// and 1 of each other, parts whose tensor cores were slowed at half or less.
constexpr double kSameTensorCores = 0.75;

/// Constants of a GPU whose tensor cores do `ratio` (below 1) of the FLOPs per multiprocessor and
/// clock that those of its column's GPU do. A FLOP took the column's GPU 1/share of the tensor
/// cores' time; what of that exceeds 1/best is work of other units, or waiting, and takes as many
/// clocks as there: ratio times as much, in time of the slower tensor cores.
class SlowerTensorCores {
 public:
  SlowerTensorCores(double ratio, double best_share) : ratio_(ratio), best_share_(best_share) {}

  void apply(GemmConstants& set) const {
    set.compute_efficiency = share(set.compute_efficiency);
    set.startup_depth *= ratio_;
    set.sustained_slowdown *= ratio_;
    if (set.tiles_by_rows) {
      TilesByRows& tiles = *set.tiles_by_rows;
      tiles.efficiency_up_to_64 = share(tiles.efficiency_up_to_64);
      tiles.efficiency_up_to_128 = share(tiles.efficiency_up_to_128);
      tiles.efficiency_large = share(tiles.efficiency_large);
      if (tiles.efficiency_17_to_32) {
        tiles.efficiency_17_to_32 = share(*tiles.efficiency_17_to_32);
      }
    }
  }
  void apply(PrefillAttentionConstants& set) const {
    set.compute_efficiency = share(set.compute_efficiency);
    set.startup_tokens *= ratio_;
  }
  void apply(ExpertConstants& set) const {
    set.compute_efficiency = share(set.compute_efficiency);
    set.tile_rows *= ratio_;
    if (set.few_tokens) {
      set.few_tokens->compute_efficiency = share(set.few_tokens->compute_efficiency);
      set.few_tokens->tile_rows *= ratio_;
    }
  }

 private:
  [[nodiscard]] double share(double fitted) const {
    const double other = 1.0 / fitted - 1.0 / best_share_;
    return other <= 0.0 ? fitted : 1.0 / (1.0 / best_share_ + other * ratio_);
  }

  double ratio_;
  double best_share_;
};

/// Dense FLOPs per multiprocessor and clock.
double tensor_rate(core::FlopsPerSecond peak, const hardware::GpuSpec& gpu) {
  return peak.value() / (real(gpu.num_sms) * gpu.clock_ghz);
}

/// The column that a GPU takes, and the one behind it.
struct Choice {
  const Column* own;
  const Column* generic;
  std::string source;
  std::string generic_source;

  template <class Set>
  [[nodiscard]] Sourced<Set> pick(std::optional<Set> Column::* set) const {
    if (own->*set) {
      return {.values = *(own->*set), .source = source};
    }
    return {.values = (generic->*set).value(), .source = generic_source};
  }
  /// Picks a set that the generic column may lack as well.
  template <class Set>
  [[nodiscard]] std::optional<Sourced<Set>> pick_any(std::optional<Set> Column::* set) const {
    const bool none = !(own->*set) && !(generic->*set);
    return none ? std::nullopt : std::optional(pick(set));
  }
};

Choice choose(const Constants& constants, const hardware::GpuSpec& gpu) {
  const Column* generic = find_column(constants, kGenericColumn);
  RIDGELINE_CHECK(generic != nullptr, "the reader requires a generic column");
  Choice choice{.own = generic,
                .generic = generic,
                .source = "kernel (generic)",
                .generic_source = "kernel (generic)"};
  if (gpu.datasheet_only) {
    choice.own = &datasheet_column();
    choice.source = "datasheet";
  } else if (const Column* named = find_column(constants, gpu.name)) {
    choice.own = named;
    choice.source = fmt::format("kernel ({})", named->name);
  } else if (const Column* base = gpu.base.empty() ? nullptr : find_column(constants, gpu.base)) {
    choice.own = base;
    choice.source = fmt::format("kernel ({}, its base)", base->name);
  } else if (const Column* relative = find_relative(constants, gpu)) {
    choice.own = relative;
    choice.source = fmt::format("kernel ({}, same architecture)", relative->name);
  }
  return choice;
}

/// The sets of `column`, which was fitted on `relative`, for slower tensor cores; those of another
/// column stay.
void slow_down(Calibration& result,
               const std::string& column,
               const hardware::GpuSpec& gpu,
               const hardware::GpuSpec& relative,
               double best_share) {
  const auto slow = [&](core::FlopsPerSecond hardware::GpuSpec::* peak, auto&... sets) {
    const double ratio = tensor_rate(gpu.*peak, gpu) / tensor_rate(relative.*peak, relative);
    if (ratio > 0.0 && ratio < kSameTensorCores) {
      const SlowerTensorCores slower(ratio, best_share);
      ((sets.source == column ? slower.apply(sets.values) : void()), ...);
    }
  };
  slow(&hardware::GpuSpec::peak_bf16,
       result.gemm_16bit,
       result.prefill_attention,
       result.experts_16bit_coarse,
       result.experts_16bit_fine);
  slow(&hardware::GpuSpec::peak_fp8,
       result.gemm_8bit,
       result.experts_8bit_coarse,
       result.experts_8bit_fine);
  for (auto* set : {&result.gemm_8bit_block, &result.gemm_8bit_deep_gemm}) {
    if (*set) {
      slow(&hardware::GpuSpec::peak_fp8, **set);
    }
  }
  if (result.experts_8bit_block) {
    slow(&hardware::GpuSpec::peak_fp8, *result.experts_8bit_block);
  }
  for (auto* set : {&result.experts_weight_only, &result.experts_mxfp4}) {
    if (*set) {
      slow(&hardware::GpuSpec::peak_bf16, **set);
    }
  }
}

/// Experts of a router that spreads its tokens less evenly than those of the tables: times the rows
/// that they compute and move.
void spread_unevenly(Calibration& result) {
  const auto spread = [](double factor, auto&... sets) {
    const auto one = [factor](auto& set) {
      if (factor > 1.0 && set) {
        set->values.pair_traffic_factor *= factor;
        set->values.compute_efficiency /= factor;
      }
    };
    (one(sets), ...);
  };
  auto* fine_8bit = &result.experts_8bit_fine;
  auto* coarse_16bit = &result.experts_16bit_coarse;
  spread(result.step.uneven_experts,
         fine_8bit,
         result.experts_8bit_block,
         result.experts_nvfp4,
         result.experts_mxfp4_mxfp8,
         result.experts_mxfp4);
  spread(result.step.uneven_coarse_experts, coarse_16bit);
  spread(result.step.uneven_marlin_experts, result.experts_weight_only);
}

/// FlashInfer's all-reduce on Blackwell, with the norm. No table has its fixed time: halfway
/// between that of vLLM's own kernel on this GPU and the common one served networks are nearest
/// (docs/models/kernel.md, "All-reduce").
Sourced<AllReduceConstants> fused_exchange(const Choice& choice,
                                           const AllReduceConstants& own,
                                           const hardware::GpuSpec& gpu) {
  AllReduceConstants fused = choice.generic->all_reduce.value();
  const double to_fused = latency_pace(own, gpu) / latency_pace(fused, gpu);
  fused.one_shot = (own.one_shot * to_fused + fused.one_shot) / 2.0;
  return {.values = fused, .source = choice.generic_source};
}

}  // namespace

const Sourced<DecodeAttentionConstants>& Calibration::decode(model::DType kv) const {
  const bool is_8bit = model::bytes_per_element(kv) <= 1.0;
  return is_8bit && decode_attention_8bit ? *decode_attention_8bit : decode_attention;
}

const Sourced<GemmConstants>& Calibration::gemm(model::DType weights,
                                                const MatmulFormat& format,
                                                bool deep_gemm) const {
  if (!format.is_8bit) {
    return gemm_16bit;
  }
  if (weights == model::DType::kFp8Block && deep_gemm && gemm_8bit_deep_gemm) {
    return *gemm_8bit_deep_gemm;
  }
  if (weights == model::DType::kFp8Block && gemm_8bit_block) {
    return *gemm_8bit_block;
  }
  return weights == model::DType::kNvfp4 && gemm_nvfp4 ? *gemm_nvfp4 : gemm_8bit;
}

const Sourced<ExpertConstants>& Calibration::experts(model::DType weights,
                                                     const MatmulFormat& format,
                                                     std::int64_t experts,
                                                     MoeBackend backend) const {
  const bool is_8bit = format.is_8bit;
  if (!is_8bit && format.weight_bytes < format.activation_bytes && experts_weight_only) {
    const bool triton = weights == model::DType::kMxfp4 && backend != MoeBackend::kMarlin;
    return triton && experts_mxfp4 ? *experts_mxfp4 : *experts_weight_only;
  }
  if (is_8bit) {
    const auto* own = weights == model::DType::kFp8Block ? &experts_8bit_block
                      : weights == model::DType::kNvfp4  ? &experts_nvfp4
                      : weights == model::DType::kMxfp4  ? &experts_mxfp4_mxfp8
                                                         : nullptr;
    if (own != nullptr && *own) {
      return **own;
    }
  }
  if (experts <= coarse_experts) {
    return is_8bit ? experts_8bit_coarse : experts_16bit_coarse;
  }
  return is_8bit ? experts_8bit_fine : experts_16bit_fine;
}

Calibration calibrate(const Constants& constants, const hardware::GpuSpec& gpu) {
  const Choice choice = choose(constants, gpu);
  Calibration result{.step = constants.step,
                     .sampling = constants.sampling,
                     .attention = constants.attention,
                     .exchange = constants.exchange,
                     .coarse_experts = constants.coarse_experts,
                     .column = choice.own->name,
                     .gemm_16bit = choice.pick(&Column::gemm_16bit),
                     .gemm_8bit = choice.pick(&Column::gemm_8bit),
                     .gemm_8bit_block = choice.pick_any(&Column::gemm_8bit_block),
                     .gemm_8bit_deep_gemm = choice.pick_any(&Column::gemm_8bit_deep_gemm),
                     .gemm_nvfp4 = choice.pick_any(&Column::gemm_nvfp4),
                     .decode_attention = choice.pick(&Column::decode_attention),
                     .decode_attention_8bit = choice.pick_any(&Column::decode_attention_8bit),
                     .prefill_attention = choice.pick(&Column::prefill_attention),
                     .experts_16bit_coarse = choice.pick(&Column::experts_16bit_coarse),
                     .experts_16bit_fine = choice.pick(&Column::experts_16bit_fine),
                     .experts_8bit_coarse = choice.pick(&Column::experts_8bit_coarse),
                     .experts_8bit_fine = choice.pick(&Column::experts_8bit_fine),
                     .experts_8bit_block = choice.pick_any(&Column::experts_8bit_block),
                     .experts_nvfp4 = choice.pick_any(&Column::experts_nvfp4),
                     .experts_mxfp4_mxfp8 = choice.pick_any(&Column::experts_mxfp4_mxfp8),
                     .experts_weight_only = choice.pick_any(&Column::experts_weight_only),
                     .experts_mxfp4 = choice.pick_any(&Column::experts_mxfp4),
                     .all_reduce = choice.pick(&Column::all_reduce)};
  if (gpu.architecture == "blackwell") {
    result.all_reduce_fused = fused_exchange(choice, result.all_reduce.values, gpu);
  }
  if (gpu.datasheet_only) {
    // What was fitted on CUDA GPUs says nothing of others: memory passes remain.
    result.step = {};
    result.sampling = {};
    result.sampling.bytes_per_logit = constants.sampling.bytes_per_logit;
    result.attention.prefill_bandwidth_efficiency = 1.0;
    result.attention.shared_context_saving = 0.0;
  }
  const auto& cut_down = constants.cut_down_compute;
  if (std::find(cut_down.begin(), cut_down.end(), gpu.name) != cut_down.end()) {
    result.gemm_16bit.values.small_tile_penalty = 0.0;
    result.gemm_8bit.values.small_tile_penalty = 0.0;
  }
  if (constants.best_compute_share && choice.own->name != gpu.name) {
    if (const auto relative = hardware::find_gpu(choice.own->name)) {
      slow_down(result, choice.source, gpu, *relative, *constants.best_compute_share);
    }
  }
  spread_unevenly(result);
  if (result.gemm_8bit_deep_gemm) {
    result.gemm_8bit_deep_gemm->source += ", DeepGEMM";
  }
  if (choice.own->pcie && choice.own->name == gpu.name) {
    result.exchange.pcie = *choice.own->pcie;
  }
  if (!gpu.has_nvlink) {
    result.all_reduce.source = "kernel (PCIe)";
  }
  return result;
}

core::Result<void> check_gpu(const hardware::GpuSpec& gpu, const model::Sharding& sharding) {
  core::Errors errors;
  const auto require = [&](const char* field, double value) {
    if (!std::isfinite(value) || !(value > 0.0)) {
      errors.push_back({.code = core::ErrorCode::kUsage,
                        .field = fmt::format("hardware.{}", field),
                        .message = fmt::format(
                            "{} of '{}', but the kernel step-time model needs a positive value",
                            value,
                            gpu.name),
                        .where = {},
                        .hint = {}});
    }
  };
  require("peak_bf16", gpu.peak_bf16.value());
  require("mem_bandwidth", gpu.mem_bandwidth.value());
  require("num_sms", static_cast<double>(gpu.num_sms));
  require("clock_ghz", gpu.clock_ghz);
  if (sharding.tensor_parallel_size > 1) {
    require("link_bandwidth", gpu.link_bandwidth.value());
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return {};
}

}  // namespace ridgeline::latency::kernel

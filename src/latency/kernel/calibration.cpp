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
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/datasheet_column.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

const Column* find_column(const Constants& constants, const std::string& name) {
  const auto found = std::find_if(constants.columns.begin(),
                                  constants.columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == constants.columns.end() ? nullptr : &*found;
}

const Column* find_relative(const Constants& constants, const std::string& architecture) {
  const auto found =
      std::find_if(constants.columns.begin(), constants.columns.end(), [&](const Column& column) {
        return column.architecture == architecture;
      });
  return found == constants.columns.end() ? nullptr : &*found;
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
};

Choice choose(const Constants& constants, const hardware::GpuSpec& gpu) {
  const Column* generic = find_column(constants, "generic");
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
  } else if (const Column* relative = find_relative(constants, gpu.architecture)) {
    choice.own = relative;
    choice.source = fmt::format("kernel ({}, same architecture)", relative->name);
  }
  return choice;
}

}  // namespace

const Sourced<ExpertConstants>& Calibration::experts(bool is_8bit, std::int64_t experts) const {
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
                     .gemm_16bit = choice.pick(&Column::gemm_16bit),
                     .gemm_8bit = choice.pick(&Column::gemm_8bit),
                     .decode_attention = choice.pick(&Column::decode_attention),
                     .prefill_attention = choice.pick(&Column::prefill_attention),
                     .experts_16bit_coarse = choice.pick(&Column::experts_16bit_coarse),
                     .experts_16bit_fine = choice.pick(&Column::experts_16bit_fine),
                     .experts_8bit_coarse = choice.pick(&Column::experts_8bit_coarse),
                     .experts_8bit_fine = choice.pick(&Column::experts_8bit_fine),
                     .all_reduce = choice.pick(&Column::all_reduce)};
  if (gpu.datasheet_only) {
    // What was fitted on CUDA GPUs says nothing of others: memory passes remain.
    result.step = {};
    result.sampling = {};
    result.sampling.bytes_per_logit = constants.sampling.bytes_per_logit;
    result.attention.prefill_bandwidth_efficiency = 1.0;
  }
  const auto& cut_down = constants.cut_down_compute;
  if (std::find(cut_down.begin(), cut_down.end(), gpu.name) != cut_down.end()) {
    result.gemm_16bit.values.small_tile_penalty = 0.0;
    result.gemm_8bit.values.small_tile_penalty = 0.0;
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

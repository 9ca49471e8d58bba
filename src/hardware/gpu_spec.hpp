#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"

namespace ridgeline::hardware {

/// Facts of one GPU, from its datasheet. A peak of 0 means that the GPU lacks the format.
struct GpuSpec {
  std::string name;  ///< Catalogue name, e.g. "h100".
  std::string full_name;
  std::string architecture;  ///< "hopper", "ampere", "ada", ...
  core::FlopsPerSecond peak_bf16;  ///< Dense.
  core::FlopsPerSecond peak_fp8;
  core::FlopsPerSecond peak_int8;
  core::BytesPerSecond mem_bandwidth;
  core::Bytes memory;         ///< As sold.
  core::Bytes usable_memory;  ///< As the driver reports it.
  core::Bytes l2_cache;
  std::int64_t num_sms = 0;
  double clock_ghz = 0.0;  ///< Boost clock that the peaks assume.
  core::BytesPerSecond link_bandwidth;  ///< One direction, to the other GPUs of its NVLink domain or PCIe.
  bool has_nvlink = false;
  std::int64_t gpus_per_node = 8;
  std::vector<std::pair<std::string, std::string>> provenance;  ///< (key, source).

  /// FLOP per byte at which BF16 work turns from memory- to compute-bound.
  [[nodiscard]] double ridge_point() const { return peak_bf16.value() / mem_bandwidth.value(); }
};

/// A catalogue name, a market alias ("H100-SXM-80GB", "A100-80", ...), or a path to a YAML file.
[[nodiscard]] core::Result<GpuSpec> find_gpu(const std::string& name);
[[nodiscard]] std::vector<std::string> catalogue_names();

}  // namespace ridgeline::hardware

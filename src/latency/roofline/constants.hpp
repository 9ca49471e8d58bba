#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::roofline {

/// The hardware constants of V0 to V2, under the names of the published hardware_config.json. What
/// a set does not state is 0, and is then taken as the original code took it: a bandwidth factor of
/// 0 is none.
struct Constants {
  double tflops_peak = 0.0;           ///< Dense BF16, TFLOP/s.
  double bandwidth_peak_tbs = 0.0;    ///< TB/s.
  double bandwidth_efficiency = 0.0;  ///< V2: share of the peak that is reached.
  double per_layer_overhead_us = 0.0;
  double bandwidth_constant = 0.0;  ///< V0, V1: the same for them.
  double step_overhead_us = 0.0;
  double mfu_prefill = 0.0;
  double mfu_decode = 0.0;
  double all_reduce_us = 0.0;  ///< One of two per layer.
  double tp_exponent = 0.0;
  double decode_tp_exponent = 0.0;
  double mfu_prefill_multiplier = 0.0;
  double mfu_decode_multiplier = 0.0;
  double prefill_bandwidth_factor = 0.0;
  double decode_bandwidth_factor = 0.0;
  double vector_peak_fraction = 0.0;
  double prefill_overhead_us = 0.0;
  double mixed_overhead_us = 0.0;
  double weight_bandwidth_factor = 0.0;  ///< V2, bandwidth: split; 0: the one factor.
  double kv_bandwidth_factor = 0.0;

  friend bool operator==(const Constants&, const Constants&) = default;
};

/// One constant by its published name.
struct ConstantKey {
  std::string_view name;
  double Constants::* member;
  double highest;     ///< Plausible: catches slips of unit. The lowest is 0.
  bool needed_by_v1;  ///< V1 cannot do without.
};
/// In the order in which they are shown.
[[nodiscard]] std::span<const ConstantKey> constant_keys();
/// The key of that name, or nullptr.
[[nodiscard]] const ConstantKey* find_constant(std::string_view name);

/// A published set of data/latency/roofline.yaml.
struct ConstantSet {
  std::string name;
  std::string source;
  Constants values;
};
[[nodiscard]] const std::vector<ConstantSet>& constant_sets();
/// Unknown names list the nearest.
[[nodiscard]] core::Result<Constants> find_constant_set(const std::string& name);

/// What a hardware_config.json says about a GPU.
struct HardwareConfig {
  Constants values;
  std::vector<std::string> keys;       ///< Our names of the constants that stand there.
  std::vector<ModelSetting> switches;  ///< Those of V2 that stand there.
  bool per_phase = false;            ///< It has a bandwidth for each phase by the documents' name.
  std::vector<std::string> unknown;  ///< Keys that no model of ours reads.
};
/// Reads the entry of a GPU, named as in the catalogue or by a market name, or the whole map when
/// its values are numbers. Names are taken in any case, and the documents' own (setting_names.hpp).
/// A file without the GPU lists what it has.
[[nodiscard]] core::Result<HardwareConfig> read_hardware_config(const std::string& path,
                                                                const hardware::GpuSpec& gpu);
[[nodiscard]] core::Result<HardwareConfig> hardware_config_from(const document::Node& document,
                                                                const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::roofline

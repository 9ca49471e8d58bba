#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {

/// The constants with what-ifs on those that hold for every GPU (`latency.set`), by their names in
/// the data file: layer_launch_gap_us, step_gap_us, ... Unknown names, other kinds than numbers and
/// negative numbers are errors.
[[nodiscard]] core::Result<Constants> with_settings(Constants constants,
                                                    const std::vector<ModelSetting>& settings);

}  // namespace ridgeline::latency::kernel

#pragma once

#include <optional>
#include <string>

#include "core/document.hpp"
#include "core/result.hpp"
#include "workload/generate/law.hpp"

namespace ridgeline::workload {

/// A law as inference-sim's workload description writes it: {type: gaussian, params: {mean,
/// std_dev, min, max}} and so on (also with the parameters beside the type).
[[nodiscard]] std::optional<Law> read_blis_law(const core::Node& node,
                                               const std::string& path,
                                               core::Errors& errors);

/// A law as inference-perf writes it: {type: lognormal, min, max, mean, std_dev}, or a plain
/// number.
[[nodiscard]] std::optional<Law> read_perf_law(const core::Node& node,
                                               const std::string& path,
                                               core::Errors& errors);

/// A law as our scenarios write lengths: a number, or {distribution: lognormal, mean, std, min,
/// max}; here with zipf, exponential, gamma and weibull too.
[[nodiscard]] std::optional<Law> read_own_law(const core::Node& node,
                                              const std::string& path,
                                              core::Errors& errors);

}  // namespace ridgeline::workload

#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "workload/generate/law.hpp"

namespace ridgeline::workload {

/// Range of whatever a law gives: tokens and seconds alike stay far from where sums overflow.
inline constexpr document::Range<double> kAnyQuantity{.lowest = 0.0, .highest = 1e9};

/// A law as inference-sim's workload description writes it: {type: gaussian, params: {mean,
/// std_dev, min, max}} and so on (also with the parameters beside the type).
[[nodiscard]] std::optional<Law> read_blis_law(const document::Node& node,
                                               const std::string& path,
                                               core::Errors& errors);

/// A law as inference-perf writes it: {type: lognormal, min, max, mean, std_dev}, or a plain
/// number.
[[nodiscard]] std::optional<Law> read_perf_law(const document::Node& node,
                                               const std::string& path,
                                               core::Errors& errors);

/// A law as our scenarios write lengths: a number, or {distribution: lognormal, mean, std, min,
/// max}; here with zipf, exponential, gamma and weibull too. Values outside `range` are refused
/// where they are written, and moved to its nearer end where they are drawn.
[[nodiscard]] std::optional<Law> read_own_law(const document::Node& node,
                                              const std::string& path,
                                              core::Errors& errors,
                                              const document::Range<double>& range = kAnyQuantity);

}  // namespace ridgeline::workload

#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {

/// The unit of an option that is a latency target, whose value must have one.
inline constexpr std::string_view kLatencyTarget = "ms or s";

/// "60s" and the like; a bare number is seconds. Nothing for anything else, or out of range.
[[nodiscard]] std::optional<core::Duration> time_value(std::string_view text);
[[nodiscard]] std::optional<core::Duration> time_value(const document::Node& node);

/// A time in seconds, of a bare number or a text with a unit. The error has neither field nor
/// place.
[[nodiscard]] core::Result<double> time_seconds(const document::Node& node);
/// A latency target in seconds, above 0: of a run, a tenant or a plan.
/// Other tools count targets in milliseconds, so a bare number is an error that asks which is
/// meant.
[[nodiscard]] core::Result<double> target_seconds(const document::Node& node);

}  // namespace ridgeline::scenario

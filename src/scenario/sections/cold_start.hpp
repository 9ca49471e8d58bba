#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "scaling/cold_start.hpp"

namespace ridgeline::scenario {

inline constexpr std::string_view kColdStartPath = "cluster.autoscaling.cold_start";

/// How an instance starts that has so many bytes of weights to read, by cluster.autoscaling's
/// `cold_start`: a map of times by phase.
[[nodiscard]] core::Result<scaling::ColdStart> read_cold_start(
    const std::optional<document::Node>& node, core::Bytes weights);

}  // namespace ridgeline::scenario

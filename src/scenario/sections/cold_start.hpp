#pragma once

#include <optional>
#include <string_view>

#include "cluster/scaling/cold_start.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::scenario {

inline constexpr std::string_view kColdStartPath = "cluster.autoscaling.cold_start";

/// How an instance starts, by cluster.autoscaling's `cold_start`: a map of times by phase, or
/// `auto`, the times computed from what it runs (scaling::computed_start). A map that says
/// `phases: auto` has the computed times where it gives none.
[[nodiscard]] core::Result<scaling::ColdStart> read_cold_start(
    const std::optional<document::Node>& node, const scaling::StartFacts& facts);

/// GPUs of one instance: data-parallel ranks are instances of their own.
[[nodiscard]] double gpus_of_instance(const Deployment& deployment);

/// What the start of one instance depends on.
[[nodiscard]] scaling::StartFacts start_facts(const Deployment& deployment);

}  // namespace ridgeline::scenario

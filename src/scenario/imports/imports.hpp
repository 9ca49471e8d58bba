#pragma once

#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

/// Configuration files of other systems, as settings of a scenario. What has no counterpart here is
/// a problem that names it; nothing is left out in silence.
namespace ridgeline::scenario {

/// An EndpointPickerConfig of llm-d's router (also of the Gateway API Inference Extension): one
/// scheduling profile, its scorers with their weights, its picker and their parameters.
[[nodiscard]] core::Result<std::vector<Override>> overrides_of_epp_config(
    const document::Node& document);

/// A policy bundle of inference-sim (`--policy-config`): routing, scheduler and admission.
[[nodiscard]] core::Result<std::vector<Override>> overrides_of_policy_bundle(
    const document::Node& document);

}  // namespace ridgeline::scenario

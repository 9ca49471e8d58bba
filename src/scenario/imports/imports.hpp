#pragma once

#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

/// Configuration files of other systems, as settings of a scenario. What has no counterpart here is
/// a problem that names it; nothing is left out in silence.
namespace ridgeline::scenario {

/// What a file of another system states.
struct Imported {
  std::vector<Override> overrides;
  core::Warnings warnings = {};  ///< What it has that changes nothing here.
};

/// An EndpointPickerConfig of llm-d's router (also of the Gateway API Inference Extension): the
/// scheduling profile that serves, its scorers with their weights, its picker and their parameters,
/// admission and flow control.
[[nodiscard]] core::Result<Imported> overrides_of_epp_config(const document::Node& document);

/// A policy bundle of inference-sim (`--policy-config`): routing, scheduler and admission.
[[nodiscard]] core::Result<Imported> overrides_of_policy_bundle(const document::Node& document);

}  // namespace ridgeline::scenario

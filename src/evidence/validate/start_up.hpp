#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "scenario/scenario.hpp"

/// The start of a server: how long each part takes by its log, and how it divides its memory.
namespace ridgeline::evidence::validate {

/// What `measured` holds of a start, by the names of kFigureNames; empty where it holds nothing.
/// The whole without the weights is a difference: how fast those come depends on whether the page
/// cache holds them. `others` gets the keys that are not predicted.
[[nodiscard]] Figures read_start(const document::Node& measured, std::vector<std::string>& others);

/// Predicts a start's figures (scaling::start_parts, the memory plan) for a record of a start. What
/// was taken for granted is added to it.
[[nodiscard]] PartPrediction predict_start(Evidence& evidence,
                                           const std::vector<scenario::Override>& overrides);

}  // namespace ridgeline::evidence::validate

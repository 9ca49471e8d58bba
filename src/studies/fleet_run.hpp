#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {

/// The settings of `common`, and then those of `own`.
[[nodiscard]] std::vector<scenario::Override> settings_of(
    std::vector<scenario::Override> common, const std::vector<scenario::Override>& own);

/// Runs the scenario of these settings and returns its numbers; the errors of its loading,
/// resolution or run otherwise.
[[nodiscard]] core::Result<metrics::Summary> run_scenario(
    const std::vector<scenario::Override>& settings);

}  // namespace ridgeline::studies

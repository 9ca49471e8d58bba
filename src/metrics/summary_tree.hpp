#pragma once

#include <optional>

#include "document/document.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// A summary as a tree: `summary` of data/schemas/result.schema.json.
[[nodiscard]] document::Node summary_tree(const Summary& summary);
/// A distribution in milliseconds by its statistics' names; each null where there is none.
[[nodiscard]] document::Node distribution_tree(const std::optional<Distribution>& distribution);

}  // namespace ridgeline::metrics

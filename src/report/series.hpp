#pragma once

#include "document/document.hpp"
#include "metrics/series.hpp"

namespace ridgeline::report {

/// The part of a result under `series`: one list per number, an item per window
/// (docs/series.md).
[[nodiscard]] document::Node series_tree(const metrics::Series& series);

}  // namespace ridgeline::report

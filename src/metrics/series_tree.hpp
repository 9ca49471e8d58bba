#pragma once

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {

/// The part of a result under `series`: one list per number, an item per window
/// (docs/formats.md).
[[nodiscard]] document::Node series_tree(const metrics::Series& series);
/// Writes the series as the next value of a JSON text.
void write_series(const metrics::Series& series, document::JsonWriter& json);

}  // namespace ridgeline::metrics

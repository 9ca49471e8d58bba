#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "document/document.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

/// A length as a document states it: a number of tokens, or a map that names a distribution,
///
///   {distribution: uniform, min: 100, max: 900}
///   {distribution: normal, mean: 512, std: 128, min: 1, max: 4096}       (lognormal alike)
///   {distribution: empirical, values: [128, 256], weights: [3, 1]}
///
/// where min and max of the normal kinds, and weights, may be left out. Problems are noted under
/// `path`.
[[nodiscard]] std::optional<workload::Length> read_length(const document::Node& node,
                                                          const std::string& path,
                                                          core::Errors& errors);

/// The document that read_length takes back to the same length.
[[nodiscard]] document::Node to_node(const workload::Length& length);

/// In a few characters: "512", "uniform(100, 900)", "normal(512, 256)" of mean and deviation, "3
/// values, mean 300".
[[nodiscard]] std::string short_text(const workload::Length& length);

/// Mean tokens of a length as it is stated, before what is drawn is limited to min and max.
[[nodiscard]] double mean_length(const workload::Length& length);

/// The JSON Schema of such a document.
[[nodiscard]] document::Node length_schema();

}  // namespace ridgeline::scenario

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {

/// The prompts of a published set of real requests, where a record that replays it says that their
/// lengths are not published (the `kind` of its input) and only guesses. Nothing for a set that is
/// not known. `assumed` gets what was taken.
[[nodiscard]] std::optional<TokenCounts> data_set_prompts(std::string_view name,
                                                          std::string_view kind,
                                                          std::vector<std::string>& assumed);

/// The prompts of an MLPerf Inference benchmark, all of its data set's mean length. Nothing for a
/// benchmark that is not known. `assumed` gets what was taken.
[[nodiscard]] std::optional<TokenCounts> mlperf_prompts(std::string_view workload,
                                                        std::vector<std::string>& assumed);

/// {"output_histogram": {"edges": [2, 4096], "counts": [178, 84, ...]}}: bins of equal width from
/// the first edge to the last. Nothing where a node has none.
[[nodiscard]] std::optional<TokenCounts> histogram_counts(const document::Node& node);

}  // namespace ridgeline::records

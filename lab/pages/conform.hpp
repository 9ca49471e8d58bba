#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/conform/conform.hpp"

namespace ridgeline::report {

/// Recordings that the replay does not repeat.
[[nodiscard]] std::size_t num_different(const std::vector<conform::ConformResult>& results);
/// Recordings of which nothing is replayed, as they say what no scheduler here does.
[[nodiscard]] std::size_t num_not_expressible(const std::vector<conform::ConformResult>& results);
/// A line per recording and engine version, the first difference below it; the counts of each
/// version, and of all.
[[nodiscard]] std::string conform_table(const std::vector<conform::ConformResult>& results);
/// The results for programs: {results[], equal, different, not_expressible}.
[[nodiscard]] std::string conform_json(const std::vector<conform::ConformResult>& results);

}  // namespace ridgeline::report

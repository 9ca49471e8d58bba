#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/conform/conform.hpp"

namespace ridgeline::report {

/// Recordings that the replay does not repeat.
[[nodiscard]] std::size_t num_different(const std::vector<conform::ConformResult>& results);
/// A line per recording and engine version, the first difference below it, and the counts.
[[nodiscard]] std::string conform_table(const std::vector<conform::ConformResult>& results);
/// The results for programs: {results[], equal, different}.
[[nodiscard]] std::string conform_json(const std::vector<conform::ConformResult>& results);

}  // namespace ridgeline::report

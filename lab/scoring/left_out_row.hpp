#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "lab/scoring/evidence_words.hpp"

namespace ridgeline::scoring {

/// One network or GPU, predicted with constants that were fitted to the runs of all others.
struct LeftOutRow {
  std::string value;
  std::int64_t records = 0;
  /// Errors of the means, end to end, to the first token and per output token, with the constants
  /// as they are.
  std::array<std::optional<ScoreRow>, 3> seen;
  std::array<std::optional<ScoreRow>, 3> unseen;  ///< With those of the others.
  double largest_change_pct = 0.0;  ///< Largest change of a constant, against the one as it is.
  std::string changed_most;         ///< Which one that is.
  std::string fitted = {};          ///< Instead of the two, where constants were looked for anew.
};

}  // namespace ridgeline::scoring

#pragma once

#include <string>

#include "lab/scoring/evidence_words.hpp"

namespace ridgeline::scoring {

/// The kind of weights that a record's server ran with: "16 bit", "FP8", ...; empty where that is
/// not known.
[[nodiscard]] std::string format_of(const Evidence& evidence);

/// The catalogue's name of a record's network where it has one: one network has many names.
[[nodiscard]] std::string network_of(const Evidence& evidence);

}  // namespace ridgeline::scoring

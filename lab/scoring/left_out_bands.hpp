#pragma once

#include <map>
#include <vector>

#include "evidence/validate/coverage.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::scoring {

/// Whose bands judge a record: those that are compiled in, or those of the other deployments.
enum class BandsOf : bool { kShipped, kLeftOut };

/// The bands of the scored records: of deployments that taught the model its constants, and apart
/// from these of those that did not (the third delivery's, unless they are among the former). By
/// engine and loop, by each of engine, kind of layers and loop, and all; each of
/// accuracy::kFewestGroups deployments or more.
[[nodiscard]] accuracy::Bands error_bands(const std::vector<ScoredRecord>& records);

/// By deployment of these records: the bands of all others, as if none of its records were there
/// (constants may have been fitted on it all the same).
[[nodiscard]] std::map<accuracy::Question, accuracy::Bands> bands_left_out(
    const std::vector<ScoredRecord>& records);

/// How many truths lie within the bands of the other deployments of these records: each deployment
/// in turn is left out (of the bands, not of the constants).
[[nodiscard]] Coverage coverage_left_out(const std::vector<ScoredRecord>& records);

}  // namespace ridgeline::scoring

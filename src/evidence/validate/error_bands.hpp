#pragma once

#include <vector>

#include "accuracy/bands.hpp"
#include "evidence/validate/scores.hpp"

namespace ridgeline::evidence::validate {

/// The error bands of the scored records, from the finest slices (one GPU, one kind of network, one
/// precision, one kind of loop, one engine) to all records at once; each with at least
/// accuracy::kFewestRecords records of a metric, in the order of their first record. A coarser
/// slice that holds the same records as a finer one is left out. Of engines that are not simulated
/// and of loads that are guesses only the power counts.
[[nodiscard]] std::vector<accuracy::Band> error_bands(const std::vector<ScoredRecord>& records);

}  // namespace ridgeline::evidence::validate

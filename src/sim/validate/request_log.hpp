#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "sim/validate/evidence.hpp"

namespace ridgeline::sim::validate {

/// The requests of one phase of one run in a log of requests: a CSV (or CSV.gz) with a header and
/// the columns exp, phase, arrival_s, input_tokens and output_tokens, among others. In the file's
/// order; requests that failed (column status other than ok) are left out. `run` empty: of any.
[[nodiscard]] core::Result<std::vector<StageLoad::Row>> read_request_log(const std::string& path,
                                                                         const std::string& run,
                                                                         const std::string& phase);

}  // namespace ridgeline::sim::validate

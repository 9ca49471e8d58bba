#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// The flags of today's inference-sim (BLIS) that mean something else than one setting: --horizon,
/// --session-mode, --trace-header, --log, --prompt-tokens-stdev and its like. Those of the original
/// simulator are in original_words.hpp.
[[nodiscard]] std::vector<FlagSpec> inference_sim_flags();

/// Puts them, --latency-model and the defaults that --rate brings in our words, and adds problems
/// to `errors` (`beside_file`: a scenario file says the rest).
void take_inference_sim_words(Arguments& arguments, bool beside_file, core::Errors& errors);

}  // namespace ridgeline::cli

#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// The flags of `vllm bench serve` that mean something else than one setting: --dataset-name,
/// --random-range-ratio, --goodput, --ignore-eos, --sonnet-input-len.
[[nodiscard]] std::vector<FlagSpec> bench_flags();

/// --save-result and its like, which write files.
[[nodiscard]] std::vector<FlagSpec> saved_result_flags();
/// Puts them as --client-results vllm-bench=FILE. Without a name the file is called as vLLM calls
/// it, but for the date.
void take_saved_result(Arguments& arguments);

/// Puts the flags of bench_flags(), and --request-rate inf, in our words, and adds problems to
/// `errors`. --dataset-name brings the bench's own defaults (`beside_file`: a scenario file says
/// the rest).
void take_bench_words(Arguments& arguments, bool beside_file, core::Errors& errors);

}  // namespace ridgeline::cli

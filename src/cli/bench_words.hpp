#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// The flags of `vllm bench serve` that mean something else than one setting: --dataset-name,
/// --random-range-ratio, --ignore-eos.
[[nodiscard]] std::vector<FlagSpec> bench_flags();

/// The arguments with those flags, and --request-rate inf, put in our words. --dataset-name brings
/// the bench's own defaults (`beside_file`: a scenario file says the rest).
[[nodiscard]] core::Result<Arguments> in_our_words(Arguments arguments, bool beside_file);

}  // namespace ridgeline::cli

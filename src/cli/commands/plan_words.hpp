#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// The flags of AIConfigurator (0.11, `cli default`): --system, --total-gpus, --isl, --osl,
/// --prefix, --ttft and --tpot in milliseconds, --target-request-rate, --target-concurrency,
/// --backend.
[[nodiscard]] std::vector<FlagSpec> aiconfigurator_flags();
/// Puts them in our words.
void take_aiconfigurator_words(Arguments& arguments, core::Errors& errors);

}  // namespace ridgeline::cli

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// --series and --series-buckets.
[[nodiscard]] std::vector<FlagSpec> series_flags();

/// How many windows they ask for; nothing where neither is given.
[[nodiscard]] core::Result<std::optional<std::size_t>> series_windows(const Arguments& arguments);

}  // namespace ridgeline::cli

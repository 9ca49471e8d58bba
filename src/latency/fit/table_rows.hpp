#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "latency/fit/samples.hpp"

namespace ridgeline::latency::fit {

/// Whose columns and units a table has.
enum class TableSource : std::uint8_t {
  kAiconfigurator,
  kProfiler,
};

/// The rows of one table that the kernel model can express (read_tables says which). `file` names
/// it in errors, which are of missing columns and of cells that cannot be. Of published tables
/// only rows of `kernel_source`, where it is not empty.
[[nodiscard]] core::Result<std::vector<Sample>> read_samples(std::string_view text,
                                                             const std::string& file,
                                                             TableKind kind,
                                                             TableSource source,
                                                             std::string_view kernel_source = {});

}  // namespace ridgeline::latency::fit

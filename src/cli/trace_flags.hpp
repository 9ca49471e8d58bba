#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::cli {

/// How traces are read: --skip-bad-rows, --trace-sessions, --seed.
[[nodiscard]] std::vector<FlagSpec> trace_flags();
[[nodiscard]] core::Result<workload::ReadOptions> read_options(const Arguments& arguments);

/// A trace that stands in place of a scenario file, or beside one, becomes --trace, if there is
/// none.
void take_trace(Arguments& arguments);

/// The one positional of a verb that takes a file; `expected` says what it should be.
[[nodiscard]] core::Result<std::string> only_file(const Arguments& arguments,
                                                  std::string_view expected);

/// The value of a flag that takes a whole number.
[[nodiscard]] core::Result<std::int64_t> whole_number(const Arguments& arguments,
                                                      std::string_view flag,
                                                      std::int64_t lowest,
                                                      std::int64_t highest);

}  // namespace ridgeline::cli

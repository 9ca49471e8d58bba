#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// What changed from one result to the next: a line per setting that differs, then a line per
/// headline number with both values and the difference in percent. Of equal results a line that
/// says so.
[[nodiscard]] std::string run_changes(const document::Node& before,
                                      const document::Node& after,
                                      const TextStyle& style);

}  // namespace ridgeline::report

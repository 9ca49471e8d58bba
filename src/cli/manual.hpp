#pragma once

#include <string>

namespace ridgeline::cli {

/// The manual page of the program in the man(7) macros, from the tables of verbs, flags and
/// options.
[[nodiscard]] std::string manual_page();

}  // namespace ridgeline::cli

#pragma once

#include <string>
#include <string_view>

namespace ridgeline::report {

/// A picture of a terminal window that shows `text`, as a self-contained SVG: for pages where the
/// output of a command is to be seen. Understands the escape sequences of Palette::ansi and drops
/// all others. A window is as wide as its longest line.
[[nodiscard]] std::string terminal_svg(std::string_view text, std::string_view title);

}  // namespace ridgeline::report

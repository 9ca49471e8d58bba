#pragma once

#include <string>
#include <string_view>

namespace ridgeline::report {

/// A text as one cell of a CSV line (RFC 4180): quoted where it holds a comma, a quote or a line
/// break.
[[nodiscard]] inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace ridgeline::report

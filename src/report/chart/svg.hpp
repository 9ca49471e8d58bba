#pragma once

#include <string>
#include <string_view>

namespace ridgeline::report {

/// Text as XML content or as the value of an attribute in double quotes: markup is escaped, what is
/// not printable is dropped.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace ridgeline::report

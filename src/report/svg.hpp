#pragma once

#include <string>
#include <string_view>

namespace ridgeline::report {

/// Text as XML content or attribute value: markup is escaped, control characters are dropped.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace ridgeline::report

#pragma once

#include <optional>
#include <string_view>

#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {

/// "60s" and the like; a bare number is seconds. Nothing for anything else, or out of range.
[[nodiscard]] std::optional<core::Duration> time_value(std::string_view text);
[[nodiscard]] std::optional<core::Duration> time_value(const document::Node& node);

}  // namespace ridgeline::scenario

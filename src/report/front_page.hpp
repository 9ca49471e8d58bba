#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::report {

/// What a sweep found, as a page: output tokens per second and GPU against a user's tokens per
/// second and against E2E, each GPU's front, the best settings at round speeds, and the points that
/// cannot run with their reasons. `rows` are the lines of `sweep merge -o FILE.ndjson`.
[[nodiscard]] std::string sweep_page(const std::vector<document::Node>& rows,
                                     std::string_view file);

}  // namespace ridgeline::report

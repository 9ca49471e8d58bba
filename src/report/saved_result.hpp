#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::report {

/// The elements of a page that hold its result, and what of it may differ between two runs.
inline constexpr std::string_view kResultElement = "result";
inline constexpr std::string_view kRunInfoElement = "run-info";

/// The result in a page that html_report() wrote, as result_tree() gave it; `file` names the page
/// in errors.
[[nodiscard]] core::Result<document::Node> result_in_page(std::string_view page,
                                                          const std::string& file);

/// A tree that pages and pictures can be made of: it has a summary and the settings, what it has is
/// as data/schemas/result.schema.json says, and the lists of its series go together. Keys may be
/// missing outside the series: results of earlier versions lack some. `file` names it in errors.
[[nodiscard]] core::Result<document::Node> checked_result(document::Node tree,
                                                          const std::string& file);

/// The result in a file that `run` wrote: its JSON, or its page.
[[nodiscard]] core::Result<document::Node> read_result(const std::string& path);

}  // namespace ridgeline::report

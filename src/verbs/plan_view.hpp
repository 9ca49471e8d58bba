#pragma once

#include <optional>
#include <string>

#include "document/document.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// An answer's tree as it is shown: the best deployments, why, how sure, what would change it, what
/// was searched, and the files that were written.
[[nodiscard]] report::Sheet plan_sheet(const document::Node& answer);

/// Why a candidate is where it is: its numbers, and what dropped it. `id` may be cut to what no
/// other id begins with, or be a place in the ranking ("1"). Nothing for an unknown one.
[[nodiscard]] std::optional<report::Sheet> plan_explanation(const document::Node& answer,
                                                            const std::string& id);

}  // namespace ridgeline::verbs

#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// A mix, from plan::mix_tree(): its pools, what each serves and how sure that is, what one
/// deployment for all classes would cost, and the files that were written.
[[nodiscard]] report::Sheet mix_sheet(const document::Node& tree);

/// What a pool of a mix serves, as "100 % of chat, 20 % of documents".
[[nodiscard]] std::string served_text(const std::vector<double>& shares,
                                      const std::vector<std::string>& classes);

}  // namespace ridgeline::verbs

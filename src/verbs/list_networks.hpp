#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "model/networks_in_folder.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {

/// Their tree as a table: family, parameters, active, weights, cache of a token and of a sequence,
/// or why a network was refused; and their counts.
[[nodiscard]] std::string networks_text(const document::Node& networks,
                                        report::Face face,
                                        const report::TextStyle& style);
/// The networks for programs; `refused` is null for those that were read.
[[nodiscard]] document::Node networks_tree(const std::vector<model::FoundNetwork>& networks);

}  // namespace ridgeline::verbs

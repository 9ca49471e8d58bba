#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "model/networks_in_folder.hpp"

namespace ridgeline::verbs {

/// A line each (family, parameters, active, weights, cache of a token and of a sequence; or why it
/// was refused) and their counts.
[[nodiscard]] std::string networks_table(const std::vector<model::FoundNetwork>& networks);
/// The networks as a Markdown table.
[[nodiscard]] std::string networks_markdown(const std::vector<model::FoundNetwork>& networks);
/// The networks for programs; `refused` is null for those that were read.
[[nodiscard]] document::Node networks_tree(const std::vector<model::FoundNetwork>& networks);

}  // namespace ridgeline::verbs

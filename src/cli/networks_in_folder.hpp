#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::cli {

/// A published configuration on disk, read or refused.
struct FoundNetwork {
  std::string
      name;  ///< Of the file without "_config.json", or of the folder that holds config.json.
  core::Result<model::ModelSpec> network;
};

/// Every `config.json` and `*_config.json` of a folder, and `config.json` of the folders in it, by
/// name. `hf_quant_config.json` and its like belong to the file beside them.
[[nodiscard]] core::Result<std::vector<FoundNetwork>> networks_in_folder(const std::string& folder);

/// A line each (family, parameters, active, weights, cache of a token and of a sequence; or why it
/// was refused) and their counts.
[[nodiscard]] std::string networks_table(const std::vector<FoundNetwork>& networks);
/// The same as a Markdown table.
[[nodiscard]] std::string networks_markdown(const std::vector<FoundNetwork>& networks);
/// The same for programs; `refused` is null for those that were read.
[[nodiscard]] document::Node networks_tree(const std::vector<FoundNetwork>& networks);

}  // namespace ridgeline::cli

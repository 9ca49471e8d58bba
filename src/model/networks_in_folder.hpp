#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// A published configuration on disk, read or refused.
struct FoundNetwork {
  std::string
      name;  ///< Name of the file without "_config.json", or of the folder that holds config.json.
  core::Result<ModelSpec> network;
};

/// Every `config.json` and `*_config.json` of a folder, and `config.json` of the folders in it, by
/// name. `hf_quant_config.json` and its like belong to the file beside them.
[[nodiscard]] core::Result<std::vector<FoundNetwork>> networks_in_folder(const std::string& folder);
}  // namespace ridgeline::model

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"

namespace ridgeline::deploy {

/// What manifests, values and recipes state, by the rows of data/deploy/manifests.yaml.
struct Manifest {
  std::string title;  ///< "Kubernetes Deployment"
  std::vector<ServerFound> servers;
  std::map<std::string, std::string> files;  ///< What its ConfigMaps hold, by key.
  core::Warnings warnings;
  std::optional<Word> router;  ///< By our name.
};

/// The servers of the documents of one file; nothing where no row fits any. `given`: variables from
/// outside. Problems are noted.
[[nodiscard]] std::optional<Manifest> read_manifest(const std::vector<document::Node>& documents,
                                                    const Values& given,
                                                    core::Errors& errors);

}  // namespace ridgeline::deploy

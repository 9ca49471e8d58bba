#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/read.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"

namespace ridgeline::deploy {

/// What a file of any kind holds.
struct Found {
  std::string title;  ///< "Kubernetes Deployment"
  std::vector<ServerFound> servers;
  Script script;  ///< Without commands where the file is no script.
  std::optional<Word> router = {};
};

/// Makes one scenario of the servers of a file: reads their flags, names what has no value, joins
/// replicas, and puts all into the scenario that the file's "#:" lines begin.
[[nodiscard]] core::Result<Deployed> assemble(Found found,
                                              document::Node assumed,
                                              const LaunchChoice& choice);

}  // namespace ridgeline::deploy

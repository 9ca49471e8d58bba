#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"
#include "document/save.hpp"

namespace ridgeline::deploy {

/// A file of a deployment, its name within the deployment's folder.
using File = document::NewFile;

/// A server of a file that was read: its network, its words, and how many there are.
struct ServerFound {
  std::string role;         ///< As Role::name.
  std::string engine = {};  ///< By its command; empty: not said.
  std::int64_t replicas = 1;
  Word network = {};                 ///< Empty: among the words.
  std::vector<Word> words = {};      ///< Behind the network.
  std::vector<Word> variables = {};  ///< "NAME=VALUE"
  std::optional<Word> image = {};
  std::int64_t nodes = 1;                 ///< Over which a replica is spread.
  std::optional<std::int64_t> gpus = {};  ///< GPUs of a replica on a node, where the file says so.
  std::string place = {};                 ///< Its GPUs and port, in which replicas differ.
  std::string condition = {};             ///< As ScriptCommand::condition.
  int loop_line = 0;                      ///< As ScriptCommand::loop_line.
};

/// Something that deployments are written for. One file in deploy/targets/, one line in
/// deploy/registry.cpp.
struct Target {
  Abilities abilities;
  std::string_view summary;
  std::vector<File> (*write)(const Layout& layout);
};

extern const Target kVllmTarget;
extern const Target kDockerTarget;
extern const Target kDockerComposeTarget;
extern const Target kKubernetesTarget;
extern const Target kLlmDHelmTarget;
extern const Target kDynamoTarget;
extern const Target kKserveTarget;
extern const Target kSglangTarget;

}  // namespace ridgeline::deploy

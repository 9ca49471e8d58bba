#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "deploy/script.hpp"
#include "document/document.hpp"

namespace ridgeline::deploy {

/// What the command line says of a file that is a launch.
struct LaunchChoice {
  Values given = {};                        ///< --env NAME=VALUE
  std::optional<std::int64_t> server = {};  ///< Which of several servers, from 1.
  bool needs_acceptance = false;            ///< Drafts are to be run, not looked at.
  bool has_acceptance = false;              ///< Flags beside the file say how many are accepted.
  std::string kind = {};                    ///< "shell" whatever the file looks like; empty: found.
};

/// Code of the warning that says what a file was understood as.
inline constexpr std::string_view kReadAs = "W-read-as";

struct Deployed {
  document::Node scenario;
  core::Warnings warnings;  ///< What is in the file and not in the scenario.
  std::string read_as =
      {};  ///< What was understood: "Kubernetes Deployment: 2 servers: 2 vllm TP4".
};

/// The scenario that a deployment's file states: a script, an engine's file of flags, or YAML that
/// a target writes. Its flags, its replicas and, behind "#:", what its flags do not say. Nothing
/// where the file is no deployment's. Fails with flags that are not known, variables without a
/// value, servers that differ, and GPUs that are not as many as the flags ask for; each with its
/// place.
[[nodiscard]] core::Result<std::optional<Deployed>> scenario_in_file(
    const std::string& path, const LaunchChoice& choice = {});

/// scenario_in_file() of a text; `file` names it.
[[nodiscard]] core::Result<std::optional<Deployed>> scenario_in(const std::string& text,
                                                                const std::string& file,
                                                                const LaunchChoice& choice = {});

}  // namespace ridgeline::deploy

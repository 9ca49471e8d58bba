#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::deploy {

/// The scenario that a deployment's file states: a script (.sh), or YAML that a target writes. Its
/// flags, its replicas and, behind "#:", what its flags do not say. Nothing where the file is no
/// deployment's. Fails with flags that are not known, servers that differ, and GPUs that are not as
/// many as the flags ask for; each with its place in the file.
[[nodiscard]] core::Result<std::optional<document::Node>> scenario_in_file(const std::string& path);

/// scenario_in_file() of a text; `file` names it.
[[nodiscard]] core::Result<std::optional<document::Node>> scenario_in(const std::string& text,
                                                                      const std::string& file);

}  // namespace ridgeline::deploy

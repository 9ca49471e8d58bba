#pragma once

#include <span>
#include <string>

#include "core/result.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {

/// Writes the files into a folder, which is made where it does not exist: all of them or none. They
/// are written beside it first, and get their names when all are whole. Files of those names are
/// replaced, but for those that this process has read. `flag` names the folder in errors.
[[nodiscard]] core::Result<void> save_files(std::string_view flag,
                                            const std::string& folder,
                                            std::span<const File> files);

/// Whether files can be written into a folder, or into one that would be made: asked before a long
/// computation, which makes nothing.
[[nodiscard]] core::Result<void> can_save(std::string_view flag, const std::string& folder);

}  // namespace ridgeline::deploy

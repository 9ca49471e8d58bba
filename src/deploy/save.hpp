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

}  // namespace ridgeline::deploy

#pragma once

#include <string_view>
#include <vector>

#include "core/document.hpp"
#include "core/result.hpp"
#include "sim/scenario.hpp"

namespace ridgeline::sim {

/// The document with the patches of one target applied: values are replaced, absent ones added. The
/// new values are located on the "command line", which tells the document's reader that each must
/// be of use.
[[nodiscard]] core::Result<core::Node> apply_patches(const core::Node& document,
                                                     const std::vector<Patch>& patches,
                                                     std::string_view target);

/// Gives an error about a patched value the name and place by which the user knows it.
void locate_patch_error(core::Error& error,
                        const std::vector<Patch>& patches,
                        std::string_view target);

}  // namespace ridgeline::sim

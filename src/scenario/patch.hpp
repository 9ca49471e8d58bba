#pragma once

#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// The document with the patches of one target applied: values are replaced, absent ones added. The
/// new values are located on the "command line", which tells the document's reader that each must
/// be of use.
[[nodiscard]] core::Result<document::Node> apply_patches(const document::Node& document,
                                                         const std::vector<Patch>& patches,
                                                         std::string_view target);

/// Gives an error about a patched value the name and place by which the user knows it.
void locate_patch_error(core::Error& error,
                        const std::vector<Patch>& patches,
                        std::string_view target);

}  // namespace ridgeline::scenario

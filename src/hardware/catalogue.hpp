#pragma once

#include <span>

#include "core/embedded_file.hpp"

namespace ridgeline::hardware {

/// data/hardware/*, compiled in.
std::span<const core::EmbeddedFile> catalogue_files();

}  // namespace ridgeline::hardware

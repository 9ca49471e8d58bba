#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::hardware {

/// data/hardware/*, compiled in.
std::span<const document::EmbeddedFile> catalogue_files();

}  // namespace ridgeline::hardware

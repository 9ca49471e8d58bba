#pragma once

#include <span>

#include "core/embedded_file.hpp"

namespace ridgeline::model {

/// data/models/*, compiled in.
std::span<const core::EmbeddedFile> catalogue_files();

}  // namespace ridgeline::model

#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::model {

/// data/models/*, compiled in.
std::span<const document::EmbeddedFile> catalogue_files();

}  // namespace ridgeline::model

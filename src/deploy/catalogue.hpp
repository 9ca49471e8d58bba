#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::deploy {

/// data/deploy/*, compiled in.
std::span<const document::EmbeddedFile> data_files();

}  // namespace ridgeline::deploy

#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::plan {

/// data/prices/*, compiled in.
std::span<const document::EmbeddedFile> price_files();
/// data/slo/*, compiled in.
std::span<const document::EmbeddedFile> slo_files();

}  // namespace ridgeline::plan

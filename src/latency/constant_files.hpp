#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::latency {

/// The files of data/latency, compiled into the binary.
[[nodiscard]] std::span<const document::EmbeddedFile> constant_files();

}  // namespace ridgeline::latency

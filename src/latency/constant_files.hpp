#pragma once

#include <span>

#include "core/embedded_file.hpp"

namespace ridgeline::latency {

/// The files of data/latency, compiled into the binary.
[[nodiscard]] std::span<const core::EmbeddedFile> constant_files();

}  // namespace ridgeline::latency

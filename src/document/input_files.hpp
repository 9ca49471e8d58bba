#pragma once

#include <fstream>
#include <string>

#include "core/result.hpp"

namespace ridgeline::document {

/// Opens a file, device or pipe for reading, with note_input(); refuses folders.
[[nodiscard]] core::Result<std::ifstream> open_file(const std::string& path);

/// Remembers that this process reads a file, so that no output of it replaces that file. Call it
/// wherever an input is opened; threads may call it at once.
void note_input(const std::string& path);

/// Whether a path names a file that was noted, be it by another name or link.
[[nodiscard]] bool is_input(const std::string& path);

/// Whether two paths name one file that exists; links are followed.
[[nodiscard]] bool is_same_file(const std::string& one, const std::string& other);

}  // namespace ridgeline::document

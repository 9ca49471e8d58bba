#pragma once

#include <string>

namespace ridgeline::document {

/// Reads of `path` are reads of the file `copy` from now on. For what can be read once only, a pipe
/// or standard input ("-"), and is read twice. Errors go on naming `path`. Called before anything
/// is read, by one thread.
void read_instead(const std::string& path, std::string copy);

/// The file to open for `path`: its copy, /dev/stdin for "-", or itself.
[[nodiscard]] std::string path_to_open(const std::string& path);

}  // namespace ridgeline::document

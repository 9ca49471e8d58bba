#pragma once

#include <string_view>

namespace ridgeline::document {

/// A data file compiled into the binary (see cmake/embed.cmake).
struct EmbeddedFile {
  std::string_view name;  ///< File name without its folder, e.g. "h100.yaml".
  std::string_view text;  ///< The file's bytes.
};

}  // namespace ridgeline::document

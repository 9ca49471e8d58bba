#pragma once

#include <string>

#include "cli/output_file.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// Refuses a name of --svg that ends in another format's: what is drawn is SVG alone.
[[nodiscard]] core::Result<void> check_picture_name(const std::string& path);
/// Opens the file of --svg, where its name is one.
[[nodiscard]] core::Result<OutputFile> open_picture(const std::string& path);

}  // namespace ridgeline::cli

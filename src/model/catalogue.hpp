#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/embedded_file.hpp"

namespace ridgeline::model {

/// data/models/*, compiled in.
std::span<const document::EmbeddedFile> catalogue_files();
/// Names of those that have this text in them, sorted: cheaper than to read them all.
[[nodiscard]] std::vector<std::string> catalogue_names_with(std::string_view text);

}  // namespace ridgeline::model

#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::report {

/// The JSON Schemas of what we write (data/schemas/), compiled in: "result.schema.json", ...
[[nodiscard]] std::span<const document::EmbeddedFile> schema_files();

}  // namespace ridgeline::report

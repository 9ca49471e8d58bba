#pragma once

#include <span>

#include "document/embedded_file.hpp"

namespace ridgeline::report {

/// THIRD_PARTY_NOTICES, compiled in: one file, written by tools/third_party_notices.py.
[[nodiscard]] std::span<const document::EmbeddedFile> notice_files();

}  // namespace ridgeline::report

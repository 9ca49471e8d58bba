#pragma once

#include <string>

#include "core/result.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {

/// Sentences beside tables: as wide as the terminal, from 48 to 100 columns.
[[nodiscard]] LineLayout sentence_layout(const TextStyle& style);

/// Each warning as a paragraph: its code, its message and its hint.
[[nodiscard]] std::string warning_lines(const core::Warnings& warnings, const TextStyle& style);

}  // namespace ridgeline::report

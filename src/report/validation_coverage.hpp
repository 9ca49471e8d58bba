#pragma once

#include <string>

#include "document/json_writer.hpp"
#include "evidence/validate/error_bands.hpp"

/// How often measurements lie within the error bands of their predictions, as tables.
namespace ridgeline::report {

/// For a terminal.
[[nodiscard]] std::string coverage_text(const evidence::validate::Coverage& coverage);
[[nodiscard]] std::string coverage_markdown(const evidence::validate::Coverage& coverage);
[[nodiscard]] std::string coverage_html(const evidence::validate::Coverage& coverage);
/// The rows, as a list.
void write_coverage(document::JsonWriter& json, const evidence::validate::Coverage& coverage);

}  // namespace ridgeline::report

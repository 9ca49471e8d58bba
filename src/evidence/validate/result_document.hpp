#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

/// Files of measured runs as documents: gzip is unpacked, NaN counts as absent, lists of which only
/// the ends are of interest keep those, and what no reader looks at is stepped over.
namespace ridgeline::evidence::validate {

[[nodiscard]] core::Result<document::Node> parse_result(std::string_view text,
                                                        const std::string& path);
[[nodiscard]] core::Result<document::Node> read_result_document(const std::string& path);
/// A line of a file of one document a line, or why it is none.
struct ResultLine {
  std::int64_t number = 0;  ///< From 1.
  core::Result<document::Node> node;
};
/// The lines that are not blank. Fails where they are more than kMostRecords.
[[nodiscard]] core::Result<std::vector<ResultLine>> read_result_lines(const std::string& path);
/// The next line of a text, which is shortened by it; without its end.
[[nodiscard]] std::string_view next_line(std::string_view& text);
[[nodiscard]] bool is_blank(std::string_view line);

}  // namespace ridgeline::evidence::validate

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/chart/figure.hpp"

namespace ridgeline::report {

/// The beginning of a page, up to and with its heading. Its policy lets it ask nothing of any
/// address, and run no script but kPageScript.
[[nodiscard]] std::string page_opening(std::string_view title);
/// Its end, with the script. `data`: elements with JSON.
[[nodiscard]] std::string page_closing(std::string_view data);

/// A picture as a section, its numbers as a table below it.
[[nodiscard]] std::string figure_section(const figures::Figure& figure);

/// A table; cells are HTML.
[[nodiscard]] std::string table_html(const std::vector<std::string>& head,
                                     const std::vector<std::vector<std::string>>& rows);

/// An element with JSON: no text in it can end it.
[[nodiscard]] std::string json_element(std::string_view id, const document::Node& node);
/// What such an element of a page holds; nothing where there is none.
[[nodiscard]] std::string_view json_of_element(std::string_view page, std::string_view id);

/// The text at a path; empty where there is none.
[[nodiscard]] std::string text_at(const document::Node& tree, std::string_view path);

/// "TTFT" of "ttft".
[[nodiscard]] std::string upper(std::string_view word);

}  // namespace ridgeline::report

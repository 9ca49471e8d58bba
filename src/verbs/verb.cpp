#include "verbs/verb.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::verbs {

std::optional<std::string> Reply::text(std::string_view format,
                                       const report::TextStyle& style) const {
  if (format == "json" && tree) {
    return document::json_text(tree());
  }
  const auto view = views.find(format);
  return view == views.end() ? std::nullopt : std::optional(view->second(style));
}

Reply answer_of(document::Node tree) {
  return {.tree = [kept = std::move(tree)] { return kept; }};
}

std::vector<std::string> sheet_formats() {
  return {"table", "json", "markdown", "html", "csv"};
}

void add_views(Reply& reply,
               const std::function<document::Node()>& tree,
               report::Sheet (*sheet)(const document::Node& tree)) {
  for (const char* const format : {"table", "markdown", "html", "csv"}) {
    reply.views.try_emplace(format, [tree, sheet, format](const report::TextStyle& style) {
      return sheet(tree()).render(report::face_of(format), style);
    });
  }
}

std::string fitted(std::string_view page, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, kNarrowest));
  std::string text;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    if (report::display_width(line) <= width) {
      text += fmt::format("{}\n", line);
      continue;
    }
    // The first column, up to the last gap of two blanks that leaves room beside it.
    const auto gap = line.substr(0, width / 2).rfind("  ");
    const std::string_view left = line.substr(0, gap == std::string_view::npos ? 0 : gap + 2);
    text += report::wrapped(left,
                            report::words(line.substr(left.size())),
                            {.width = width, .indent = left.size(), .separator = " "});
  }
  return text;
}

int exit_code(const core::Errors& errors) {
  const auto has = [&](core::ErrorCode code) {
    return std::ranges::find(errors, code, &core::Error::code) != errors.end();
  };
  return has(core::ErrorCode::kInternal) ? kInternal
         : has(core::ErrorCode::kUsage)  ? kUsage
                                         : kInfeasible;
}

}  // namespace ridgeline::verbs

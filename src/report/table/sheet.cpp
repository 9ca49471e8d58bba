#include "report/table/sheet.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "report/chart/svg.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::report {
namespace {

/// Text of a paragraph of Markdown: nothing in it is markup.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text, false)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

/// Words on a page, where they wrap by themselves.
std::string joined(const std::vector<Sheet::Words>& words, std::string_view between) {
  std::string text;
  for (const Sheet::Words& one : words) {
    text += (text.empty() ? "" : std::string(between)) + one.text;
  }
  return text;
}

}  // namespace

Sheet& Sheet::add(Part part) {
  parts_.push_back(std::move(part));
  return *this;
}

Sheet& Sheet::line(std::vector<Words> words, std::string label, std::size_t width) {
  return words.empty()
             ? *this
             : add({.label = std::move(label), .width = width, .words = std::move(words)});
}
Sheet& Sheet::line(const std::vector<std::string>& texts, std::string label, std::size_t width) {
  std::vector<Words> words;
  for (const std::string& text : texts) {
    words.push_back({.text = text});
  }
  return line(std::move(words), std::move(label), width);
}
Sheet& Sheet::sentence(std::string text, std::string label, std::size_t width) {
  return add({.label = std::move(label),
              .width = width,
              .is_sentence = true,
              .words = {{.text = std::move(text)}}});
}
Sheet& Sheet::row(std::string text, std::string label, std::size_t width) {
  return add({.kind = Kind::kRow,
              .label = std::move(label),
              .width = width,
              .words = {{.text = std::move(text)}}});
}
Sheet& Sheet::fact(std::string_view name, std::string_view value, std::string_view note) {
  constexpr std::size_t kName = 29;
  constexpr std::size_t kValue = 14;
  return row(fmt::format("{}{}{}",
                         pad_left(core::escaped(value), kValue),
                         note.empty() ? "" : "  ",
                         core::escaped(note)),
             fmt::format("  {} ", name),
             kName);
}
Sheet& Sheet::drawn(std::string text) {
  return add({.kind = Kind::kDrawn, .words = {{.text = std::move(text)}}});
}
Sheet& Sheet::element(std::string html) {
  return add({.kind = Kind::kElement, .words = {{.text = std::move(html)}}});
}
Sheet& Sheet::table(TableView view, std::vector<document::Node> rows) {
  return add({.kind = Kind::kTable, .view = std::move(view), .rows = std::move(rows)});
}
Sheet& Sheet::table(TableView view, const Rows& rows) {
  std::vector<document::Node> own;
  for (const document::Node* const row : rows) {
    own.push_back(*row);
  }
  return table(std::move(view), std::move(own));
}

Sheet& Sheet::warnings(const core::Warnings& warnings) {
  for (const core::Warning& warning : warnings) {
    add({.kind = Kind::kWarning,
         .label = warning.code,
         .words = {{.text = warning.hint.empty() ? warning.message
                                                 : warning.message + " \u2013 " + warning.hint}}});
  }
  return *this;
}

std::string Sheet::on_terminal(const Part& part, const TextStyle& style) {
  const std::string& first = part.words.empty() ? part.label : part.words.front().text;
  switch (part.kind) {
    case Kind::kTable:
      return report::render(part.view, rows_of(part.rows), Face::kTerminal, style);
    case Kind::kRow:
      return pad_right(part.label, part.width) + printable(first, style.ascii) + "\n";
    case Kind::kDrawn:
      return first;
    case Kind::kElement:
      return {};
    case Kind::kWarning:
      return warning_lines({{.code = part.label, .message = first}}, style);
    case Kind::kLine:
      break;
  }
  LineLayout layout = sentence_layout(style);
  const bool is_labelled = !part.label.empty();
  layout.indent = is_labelled ? part.width : layout.indent;
  std::vector<Piece> pieces;
  if (part.is_sentence) {
    layout.separator = " ";
    pieces = report::words(printable(first, style.ascii));
    const std::size_t room =
        std::max(layout.width, static_cast<std::size_t>(std::max(style.width, 0)));
    for (Piece& piece : pieces) {
      piece.text = shortened(piece.text, room - layout.indent, style.ascii);
    }
  } else {
    for (const Words& one : part.words) {
      pieces.push_back(
          {.text = printable(one.text, style.ascii), .colour = style.palette.of(one.tone)});
    }
  }
  return wrapped(is_labelled ? pad_right(part.label, part.width) : "", pieces, layout);
}

std::string Sheet::on_page(const Part& part, Face face, const TextStyle& style) {
  const bool html = face == Face::kHtml;
  const std::string label = part.label.empty() ? "" : part.label + ": ";
  switch (part.kind) {
    case Kind::kDrawn:
      return {};
    case Kind::kElement:
      return html ? part.words.front().text : std::string();
    case Kind::kTable:
      return part.view.title.empty()
                 ? "\n" + report::render(part.view, rows_of(part.rows), face, style) + "\n"
                 : section(part.view, rows_of(part.rows), face, style);
    case Kind::kWarning:
      return html ? fmt::format("<p><b>{}</b> {}</p>\n",
                                xml_escaped(part.label),
                                xml_escaped(part.words.front().text))
                  : fmt::format("- **{}** {}\n", plain(part.label), plain(part.words.front().text));
    case Kind::kLine:
    case Kind::kRow:
      break;
  }
  const std::string text = label + joined(part.words, ", ");
  return html ? fmt::format("<p>{}</p>\n", xml_escaped(text)) : plain(text) + "\n\n";
}

std::string Sheet::render(Face face, const TextStyle& style) const {
  if (face == Face::kCsv) {
    const auto main = std::ranges::find(parts_, Kind::kTable, &Part::kind);
    return main == parts_.end() ? std::string()
                                : report::render(main->view, rows_of(main->rows), face, style);
  }
  std::string text = face == Face::kHtml       ? page_opening(title_)
                     : face == Face::kMarkdown ? fmt::format("# {}\n\n", title_)
                                               : std::string();
  for (const Part& part : parts_) {
    text += face == Face::kTerminal ? on_terminal(part, style) : on_page(part, face, style);
  }
  return face == Face::kHtml ? text + page_closing("") : text;
}

}  // namespace ridgeline::report

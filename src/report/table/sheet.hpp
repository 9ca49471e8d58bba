#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::report {

/// What is shown of a result, said once: lines and tables in their order. It comes out as text for
/// a terminal, as Markdown, as a page, or as CSV, which has its main table alone.
class Sheet {
 public:
  /// Some words of a line, which stay together.
  struct Words {
    std::string text;
    Tone tone = Tone::kPlain;
  };
  /// Columns of a label before a line.
  static constexpr std::size_t kLabel = 13;

  explicit Sheet(std::string title) : title_(std::move(title)) {}

  /// Words side by side, as many on a line as fit; behind a label, wrapped beside it.
  Sheet& line(std::vector<Words> words, std::string label = {}, std::size_t width = kLabel);
  Sheet& line(const std::vector<std::string>& texts,
              std::string label = {},
              std::size_t width = kLabel);
  /// A sentence, wrapped between its words; behind a label, beside it.
  Sheet& sentence(std::string text, std::string label = {}, std::size_t width = 0);
  /// Text that is never wrapped, behind a label of so many columns.
  Sheet& row(std::string text, std::string label = {}, std::size_t width = 0);
  /// What is known by a name: a short value, flush right, and where it comes from.
  Sheet& fact(std::string_view name, std::string_view value, std::string_view note = {});
  /// On terminals alone: an empty line, and text as it stands.
  Sheet& gap() { return drawn("\n"); }
  Sheet& drawn(std::string text);
  /// On pages alone: a picture or any other element.
  Sheet& element(std::string html);
  Sheet& table(TableView view, std::vector<document::Node> rows);
  Sheet& table(TableView view, const Rows& rows);
  Sheet& warnings(const core::Warnings& warnings);

  [[nodiscard]] std::string render(Face face, const TextStyle& style) const;

 private:
  enum class Kind : std::uint8_t { kLine, kRow, kDrawn, kElement, kTable, kWarning };
  struct Part {
    Kind kind = Kind::kLine;
    std::string label = {};
    std::size_t width = 0;
    bool is_sentence = false;
    std::vector<Words> words = {};
    TableView view = {};
    std::vector<document::Node> rows = {};
  };
  Sheet& add(Part part);
  [[nodiscard]] static std::string on_terminal(const Part& part, const TextStyle& style);
  [[nodiscard]] static std::string on_page(const Part& part, Face face, const TextStyle& style);

  std::string title_;
  std::vector<Part> parts_;
};

}  // namespace ridgeline::report

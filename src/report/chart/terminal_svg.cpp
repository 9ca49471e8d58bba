#include "report/chart/terminal_svg.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "report/chart/svg.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

// The usual advance of a monospace font is 0.6 of its size; textLength makes it exact elsewhere.
constexpr double kFontSize = 14.0;
constexpr double kCharWidth = 0.6 * kFontSize;
constexpr double kLineHeight = 20.0;
constexpr double kPadding = 18.0;
constexpr double kTitleBar = 36.0;
constexpr std::size_t kMinColumns = 40;

/// A stretch of text in one style.
struct Span {
  std::string_view style;  ///< A class of the style sheet; empty for plain text.
  std::string text;
};
using Line = std::vector<Span>;

constexpr std::string_view kStyleSheet =
    ".w{fill:#161b22;stroke:#30363d}.b{fill:#21262d}"
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "fill:#e6edf3;white-space:pre}"
    ".t{fill:#8b949e}.good{fill:#3fb950}.warn{fill:#d29922}.bad{fill:#ff7b72}.dim{fill:#8b949e}";

/// The style that an escape sequence of the palette turns on; plain for every other.
std::string_view style_of(std::string_view sequence) {
  constexpr Palette kAnsi = Palette::ansi();
  const std::array<std::pair<std::string_view, std::string_view>, 4> styles = {
      {{kAnsi.good, "good"}, {kAnsi.warn, "warn"}, {kAnsi.bad, "bad"}, {kAnsi.dim, "dim"}}};
  for (const auto& [escape, name] : styles) {
    if (sequence == escape) {
      return name;
    }
  }
  return {};
}

/// The length of the escape sequence at the front of `text` (CSI: ESC [ ... final byte @ to ~).
std::size_t escape_length(std::string_view text) {
  std::size_t end = 1;
  if (end < text.size() && text[end] == '[') {
    ++end;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) {
      ++end;
    }
    ++end;
  }
  return std::min(end, text.size());
}

std::vector<Line> parse(std::string_view text) {
  std::vector<Line> lines(1);
  std::string_view style;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\x1b') {
      const std::size_t length = escape_length(text.substr(at));
      style = style_of(text.substr(at, length));
      at += length;
      continue;
    }
    if (text[at] == '\n') {
      lines.emplace_back();
    } else {
      Line& line = lines.back();
      if (line.empty() || line.back().style != style) {
        line.push_back({.style = style, .text = {}});
      }
      line.back().text += text[at];
    }
    ++at;
  }
  if (lines.size() > 1 && lines.back().empty()) {
    lines.pop_back();
  }
  return lines;
}

std::size_t columns_of(const Line& line) {
  std::size_t columns = 0;
  for (const Span& span : line) {
    columns += display_width(span.text);
  }
  return columns;
}

std::string line_svg(const Line& line, double y) {
  const std::size_t columns = columns_of(line);
  if (columns == 0) {
    return {};
  }
  std::string svg = fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" textLength=\"{:.1f}\" lengthAdjust=\"spacingAndGlyphs\" "
      "xml:space=\"preserve\">",
      kPadding,
      y,
      static_cast<double>(columns) * kCharWidth);
  for (const Span& span : line) {
    svg += span.style.empty()
               ? xml_escaped(span.text)
               : fmt::format("<tspan class=\"{}\">{}</tspan>", span.style, xml_escaped(span.text));
  }
  return svg + "</text>\n";
}

std::string window_svg(double width, double height, std::string_view title) {
  constexpr std::array<std::string_view, 3> kButtons = {"#ff5f57", "#febc2e", "#28c840"};
  std::string svg = fmt::format(
      "<rect class=\"w\" x=\"0.5\" y=\"0.5\" width=\"{0:.1f}\" height=\"{1:.1f}\" rx=\"10\"/>\n"
      "<path class=\"b\" d=\"M1 {2:.1f}V11a10 10 0 0 1 10-10H{3:.1f}a10 10 0 0 1 10 "
      "10V{2:.1f}z\"/>\n",
      width - 1.0,
      height - 1.0,
      kTitleBar,
      width - 11.0);
  for (std::size_t i = 0; i < kButtons.size(); ++i) {
    svg += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"6\" fill=\"{}\"/>\n",
                       22 + 20 * i,
                       kTitleBar / 2.0,
                       kButtons[i]);
  }
  svg +=
      fmt::format("<text class=\"t\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                  width / 2.0,
                  kTitleBar / 2.0 + 5.0,
                  xml_escaped(title));
  return svg;
}

}  // namespace

std::string terminal_svg(std::string_view text, std::string_view title) {
  const std::vector<Line> lines = parse(text);
  std::size_t columns = std::max(kMinColumns, display_width(title) + 20);
  for (const Line& line : lines) {
    columns = std::max(columns, columns_of(line));
  }
  const double width = static_cast<double>(columns) * kCharWidth + 2.0 * kPadding;
  const double height =
      kTitleBar + static_cast<double>(lines.size()) * kLineHeight + 2.0 * kPadding - 6.0;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n",
      width,
      height,
      xml_escaped(title),
      kStyleSheet);
  svg += window_svg(width, height, title);
  double y = kTitleBar + kPadding + kFontSize - 2.0;
  for (const Line& line : lines) {
    svg += line_svg(line, y);
    y += kLineHeight;
  }
  return svg + "</svg>\n";
}

}  // namespace ridgeline::report

#include "report/chart/terminal_svg.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "unit/report/xml_check.hpp"
#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_view.hpp"

namespace ridgeline::report {
namespace {

using testing::attribute;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::xml_problem;
using verbs::fixtures::example_result;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++times;
  }
  return times;
}

TEST(TerminalSvg, ShowsEveryLineInItsColours) {
  TextStyle style;
  style.palette = Palette::ansi();
  const std::string svg =
      terminal_svg(verbs::run_text(verbs::result_tree(example_result()), Face::kTerminal, style),
                   "$ ridgeline run");
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr("<tspan class=\"good\">ok</tspan>"));
  EXPECT_THAT(svg, HasSubstr("<tspan class=\"bad\">missed</tspan>"));
  EXPECT_THAT(svg, HasSubstr("TTFT      ms      182"));
  EXPECT_THAT(svg, HasSubstr(">$ ridgeline run</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
}

// Two lines of text and the title; the empty line between is only space.
TEST(TerminalSvg, KeepsEmptyLinesAsSpace) {
  const std::string svg = terminal_svg("one\n\ntwo\n", "t");
  EXPECT_EQ(count(svg, "<text "), 3U);
  const std::size_t one = svg.find("<text x=");
  const std::size_t two = svg.find("<text x=", one + 1);
  EXPECT_DOUBLE_EQ(std::stod(attribute(svg, two, "y")) - std::stod(attribute(svg, one, "y")), 40.0);
}

TEST(TerminalSvg, IsAsWideAsItsLongestLine) {
  const auto width = [](const std::string& text) {
    const std::string svg = terminal_svg(text, "t");
    return std::stod(attribute(svg, svg.find("<svg"), "width"));
  };
  // A character is 8.4 wide: 50 more are 420.
  EXPECT_DOUBLE_EQ(width(std::string(100, 'x')) - width(std::string(50, 'x')), 420.0);
  EXPECT_DOUBLE_EQ(width("x"), width(""));
  // One column each, whatever the bytes.
  EXPECT_DOUBLE_EQ(width(std::string(99, 'x') + "\u2264"), width(std::string(100, 'x')));
}

TEST(TerminalSvg, TextFromOutsideIsNoMarkup) {
  const std::string svg = terminal_svg("<a>&\"\x1b[2Jb\x1b]0;c\x07\x1b", "</title><script>");
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("&lt;a&gt;&amp;&quot;b"));
}

}  // namespace
}  // namespace ridgeline::report

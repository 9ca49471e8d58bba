#include "report/table/sheet.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Sheet a_sheet() {
  Sheet sheet("What was found");
  sheet.line(std::vector<std::string>{"8 req/s", "p99 \u2264 5 ms"});
  sheet.line(std::vector<Sheet::Words>{{.text = "3 rejected", .tone = Tone::kBad}}, "requests");
  sheet.gap().table(
      {.columns = {{.title = "name", .path = "name"},
                   {.title = "ms", .path = "ms", .format = Format::kSignificant}}},
      std::vector<document::Node>{document::MapBuilder().add("name", "a | b").add("ms", 12.3456)});
  return sheet.warnings({{.code = "W-one", .message = "it is late", .hint = "--early"}});
}

TEST(Sheet, IsTextForATerminal) {
  EXPECT_EQ(a_sheet().render(Face::kTerminal, {.ascii = true}),
            "8 req/s   p99 <= 5 ms\n"
            "requests     3 rejected\n"
            "\n"
            "name     ms\n"
            "a | b  12.3\n"
            "warning W-one: it is late - --early\n");
}

TEST(Sheet, ColoursRepeatTheWords) {
  EXPECT_THAT(a_sheet().render(Face::kTerminal, {.palette = Palette::ansi()}),
              HasSubstr("requests     \x1b[31m3 rejected\x1b[0m\n"));
}

TEST(Sheet, IsMarkdownAndAPage) {
  const std::string markdown = a_sheet().render(Face::kMarkdown, {});
  EXPECT_THAT(markdown, StartsWith("# What was found\n\n8 req/s, p99 \u2264 5 ms\n"));
  EXPECT_THAT(markdown, HasSubstr("requests: 3 rejected\n"));
  EXPECT_THAT(markdown, HasSubstr("| a \\| b | 12.3 |\n"));
  const std::string page = a_sheet().render(Face::kHtml, {});
  EXPECT_THAT(page, HasSubstr("<p>requests: 3 rejected</p>"));
  EXPECT_THAT(page, HasSubstr("<td>12.3</td>"));
  EXPECT_THAT(page, HasSubstr("<b>W-one</b> it is late"));
}

TEST(Sheet, CsvIsTheMainTableWithAllDigits) {
  EXPECT_EQ(a_sheet().render(Face::kCsv, {}), "name,ms\na | b,12.3456\n");
}

TEST(Sheet, CutsAWordThatNoLineHolds) {
  Sheet sheet("Long");
  sheet.sentence("source: " + std::string(200, 'f'), "", 0);
  EXPECT_THAT(sheet.render(Face::kTerminal, {.width = 80, .ascii = true}), HasSubstr("f..f"));
}

}  // namespace
}  // namespace ridgeline::report

#include "report/table/table.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

const TableView kView{.title = "Prices",
                      .columns = {{.title = "name", .path = "name", .terminal = "what it is"},
                                  {.title = "of", .path = "of", .on = Column::On::kPages},
                                  {.title = "ms", .path = "time.ms", .format = Format::kFixed1}}};

document::Node two_rows() {
  return document::MapBuilder().add(
      "rows",
      document::list_node(
          {document::MapBuilder()
               .add("name", "a|b,<c>")
               .add("of", "x")
               .add("time", document::MapBuilder().add("ms", 1234.56)),
           document::MapBuilder().add("name", "d").add("of", "y").add("time", document::Node())}));
}

std::string shown(Face face) {
  const document::Node tree = two_rows();
  return render(kView, rows_at(tree, "rows"), face, {});
}

TEST(TableView, ComesOutInEveryFaceOfOneDeclaration) {
  EXPECT_EQ(shown(Face::kTerminal),
            "what it is      ms\n"
            "a|b,<c>     1234.6\n"
            "d                \u2013\n");
  EXPECT_EQ(shown(Face::kMarkdown),
            "| name | of | ms |\n|---|---|---|\n"
            "| a\\|b,<c> | x | 1234.6 |\n| d | y | \u2013 |\n");
  EXPECT_EQ(shown(Face::kCsv), "name,of,time.ms\n\"a|b,<c>\",x,1234.56\nd,y,\n");
  EXPECT_EQ(shown(Face::kHtml),
            "<div class=\"wide\" tabindex=\"0\"><table>\n"
            "<tr><th>name</th><th>of</th><th>ms</th></tr>\n"
            "<tr><td>a|b,&lt;c&gt;</td><td>x</td><td>1234.6</td></tr>\n"
            "<tr><td>d</td><td>y</td><td>\u2013</td></tr>\n</table></div>\n");
}

TEST(TableView, ASectionOfNoRowsIsNothing) {
  EXPECT_EQ(section(kView, {}, Face::kMarkdown, {}), "");
  const document::Node tree = two_rows();
  EXPECT_TRUE(section(kView, rows_at(tree, "rows"), Face::kMarkdown, {})
                  .starts_with("\n## Prices\n\n| name |"));
  EXPECT_TRUE(rows_at(tree, "none").empty());
}

}  // namespace
}  // namespace ridgeline::report

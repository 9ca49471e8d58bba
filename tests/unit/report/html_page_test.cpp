#include "report/html_page.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_builder.hpp"
#include "report/page_script.hpp"

namespace ridgeline::report {
namespace {

using document::text_node;

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlPage, NoTextEndsAnElementOfJson) {
  const std::string text = "</script><img>";
  const std::string element = json_element("data", text_node(text));
  EXPECT_EQ(element.find("</script>"), element.size() - std::string("</script>\n").size());
  EXPECT_EQ(json_of_element(element, "data"), "\"\\u003c/script>\\u003cimg>\"");
  EXPECT_EQ(json_of_element(element, "other"), "");
}

TEST(HtmlPage, RunsItsOwnScriptAlone) {
  const std::string page = page_opening("<b>") + page_closing("");
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-" + std::string(kPageScriptHash) + "'"));
  EXPECT_THAT(page, HasSubstr("<script id=\"hover\">" + std::string(kPageScript) + "</script>"));
  EXPECT_THAT(page, HasSubstr("<h1>&lt;b&gt;</h1>"));
  EXPECT_THAT(std::string(kPageScript), Not(HasSubstr("</script")));
}

TEST(HtmlPage, TablesHaveTheirHead) {
  EXPECT_EQ(table_html({"a", "b"}, {{"1", "2"}}),
            "<div class=\"wide\" tabindex=\"0\"><table>\n<tr><th>a</th><th>b</th></tr>\n"
            "<tr><td>1</td><td>2</td></tr>\n</table></div>\n");
}

}  // namespace
}  // namespace ridgeline::report

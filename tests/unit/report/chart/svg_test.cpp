#include "report/chart/svg.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

TEST(XmlEscaped, EscapesMarkup) {
  EXPECT_EQ(xml_escaped("a < b && \"c\" > d"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(xml_escaped("p99 \u2264 20"), "p99 \u2264 20");
  EXPECT_EQ(xml_escaped(""), "");
}

TEST(XmlEscaped, DropsWhatXmlForbids) {
  EXPECT_EQ(xml_escaped(std::string("a\x1b\x00z\n", 5)), "az");
}

}  // namespace
}  // namespace ridgeline::report

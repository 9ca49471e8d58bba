#include "evidence/validate/result_document.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::evidence::validate {
namespace {

TEST(ResultDocument, KeepsWhatReadersLookAt) {
  const auto document = parse_result(R"({"itls": [[1, 2], [3]], "output_token_times": [1, 2, 3, 4],
      "lists": [[1, 2, 3]], "rate": NaN})",
                                     "own.json")
                            .value();
  EXPECT_EQ(document.find("itls"), nullptr);
  ASSERT_EQ(document.find("output_token_times")->items().size(), 2U);
  EXPECT_EQ(document.find("output_token_times")->items()[1].as_real(), 4.0);
  EXPECT_EQ(document.find("lists")->items()[0].items().size(), 3U);
  EXPECT_TRUE(document.find("rate")->is_null());
}

TEST(ResultDocument, RefusesAKeyGivenTwice) {
  const auto document = parse_result(R"({"a": [{"b": 1, "b": 2}]})", "own.json");
  ASSERT_FALSE(document.has_value());
  EXPECT_EQ(document.error().front().message, "\"b\" is given twice, expected once");
}

TEST(ResultDocument, LinesOfAnyEnd) {
  std::string_view text = "a\r\n\nb";
  EXPECT_EQ(next_line(text), "a");
  EXPECT_TRUE(is_blank(next_line(text)));
  EXPECT_EQ(next_line(text), "b");
  EXPECT_TRUE(text.empty());
}

}  // namespace
}  // namespace ridgeline::evidence::validate

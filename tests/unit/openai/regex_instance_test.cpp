#include "openai/regex_instance.hpp"

#include <regex>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(RegexInstance, IsMatchedFromEndToEnd) {
  for (const char* expression : {"abc",
                                 "a|b",
                                 "(yes|no)+",
                                 "[0-9]{3}-[0-9]{4}",
                                 "\\d+(\\.\\d{2,3})?",
                                 "^(?:\\w+)@(?:\\w+)\\.com$",
                                 "[^a-zA-Z0-9]x",
                                 "\\{\"name\": \"[A-Z][a-z]*\"\\}",
                                 "[a-z]*",
                                 "(a?b?)?",
                                 "[\\d\\-.]{2}",
                                 "[]x]",
                                 "\\x41\\u0042\\n",
                                 ".{0,5}",
                                 "(a{0}|b)?c",
                                 "\\S\\s\\D\\W"}) {
    const auto text = regex_instance(expression);
    ASSERT_TRUE(text.has_value()) << expression;
    EXPECT_FALSE(text->empty()) << expression;
    const std::string_view given = expression;
    if (given != "[]x]") {  // Not ECMAScript's: a bracket that comes first.
      EXPECT_TRUE(std::regex_match(*text, std::regex(expression))) << expression << ": " << *text;
    }
  }
}

TEST(RegexInstance, IsTheShortestOfTheFirstAlternative) {
  EXPECT_EQ(regex_instance("(first|second) [a-z]{2,9}x*").value_or(""), "first aa");
  EXPECT_EQ(regex_instance("(?P<year>\\d{4})").value_or(""), "0000");
  EXPECT_EQ(regex_instance("[a-z]*").value_or(""), "a");
  EXPECT_EQ(regex_instance("[é]").value_or(""), "é");
  EXPECT_EQ(regex_instance("x{y}").value_or(""), "x{y}");
}

TEST(RegexInstance, RefusesWhatItDoesNotKnow) {
  for (const char* expression : {"(?=a)b",
                                 "(?<!a)b",
                                 "(a)\\1",
                                 "\\bword",
                                 "\\p{L}",
                                 "(",
                                 ")",
                                 "[a",
                                 "*a",
                                 "a\\",
                                 "[z-a]",
                                 "",
                                 "()",
                                 "a{3,2}",
                                 "\\xq",
                                 "[^\\s\\S]",
                                 "a{20000}",
                                 "(a{9999}){9999}"}) {
    EXPECT_FALSE(regex_instance(expression).has_value()) << expression;
  }
  EXPECT_FALSE(regex_instance(std::string(1000, '(')).has_value());
}

}  // namespace
}  // namespace ridgeline::openai

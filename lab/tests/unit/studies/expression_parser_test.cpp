#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/tests/unit/studies/worked_out.hpp"

namespace ridgeline::studies {
namespace {

using fixtures::worked_out;
using testing::HasSubstr;

TEST(ExpressionParser, NamesWhatIsMissing) {
  EXPECT_EQ(worked_out("thre"),
            "'thre' stands for nothing here in 'thre' (did you mean 'three'? A text stands "
            "between quotation marks)");
  EXPECT_EQ(worked_out("maxx(1)"),
            "there is no function 'maxx' in 'maxx(1)' (did you mean 'max'?)");
  EXPECT_EQ(worked_out("half(1, 2)"), "found 2 values for 'half', expected 1 in 'half(1, 2)' ()");
  EXPECT_EQ(worked_out("join([1])"), "found 1 values for join(), expected 2 in 'join([1])' ()");
  EXPECT_EQ(worked_out("sorted([1], key=1)"),
            "sorted() has no keyword 'key' in 'sorted([1], key=1)' (by)");
  EXPECT_EQ(worked_out("1 +"), "found the end, expected a value, a name or a bracket in '1 +'");
  EXPECT_EQ(worked_out("1 2"), "found \"2\", expected an operator or the end in '1 2'");
  EXPECT_THAT(worked_out("circle"), HasSubstr("'circle' needs its own value"));
  EXPECT_THAT(worked_out("endless(1)"), HasSubstr("asks for itself without an end"));
  EXPECT_THAT(worked_out(std::string(100, '(')), HasSubstr("fewer brackets"));
  EXPECT_THAT(worked_out(std::string(3999, '-') + "1"), HasSubstr("an expression is too long"));
  EXPECT_THAT(worked_out(std::string(5000, ' ')), HasSubstr("found 5000 characters"));
}

}  // namespace
}  // namespace ridgeline::studies

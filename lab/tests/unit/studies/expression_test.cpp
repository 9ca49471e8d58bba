#include "lab/studies/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/tests/unit/studies/worked_out.hpp"

namespace ridgeline::studies {
namespace {

using fixtures::worked_out;
using testing::HasSubstr;

TEST(Expression, ArithmeticBindsAsInPython) {
  EXPECT_EQ(worked_out("1 + 2 * 3"), "7");
  EXPECT_EQ(worked_out("-(1 + 2) * 3 - 1"), "-10");
  EXPECT_EQ(worked_out("7 / 2"), "3.5");
  EXPECT_EQ(worked_out("-7 // 2"), "-4");
  EXPECT_EQ(worked_out("-7 % 3"), "2");
  EXPECT_EQ(worked_out("2.5e3 + 1e-1"), "2500.1");
  EXPECT_EQ(worked_out("9223372036854775807 + 1"),
            "found 9223372036854775807 + 1 in '9223372036854775807 + 1'");
  EXPECT_EQ(worked_out("1 / 0"), "found 1 / 0 in '1 / 0'");
}

TEST(Expression, ComparesAndChooses) {
  EXPECT_EQ(worked_out("1 == 1.0 and not 2 < 1 or false"), "true");
  EXPECT_EQ(worked_out("\"a\" < \"b\""), "true");
  EXPECT_EQ(worked_out("[1, [2]] == [1, [2.0]]"), "true");
  EXPECT_EQ(worked_out("null == 0"), "false");
  EXPECT_EQ(worked_out("1 if three > 2 else 1 / 0"), "1");
  EXPECT_EQ(worked_out("1 if three else 2"),
            "found 3 as a condition, expected true or false in '1 if three else 2'");
}

TEST(Expression, ListsMapsAndComprehensions) {
  EXPECT_EQ(worked_out("[x * y for x in range(1, 4) if x != 2 for y in [x, 10]]"), "[1,10,9,30]");
  EXPECT_EQ(worked_out("[1] + [2] * 2"), "[1,2,2]");
  EXPECT_EQ(worked_out("range(10)[2:4]"), "[2,3]");
  EXPECT_EQ(worked_out("range(4)[-1]"), "3");
  EXPECT_EQ(worked_out("range(4)[4]"), "found item 4 of a list of 4 in 'range(4)[4]'");
  EXPECT_EQ(worked_out(R"({"a": {"b": 1}}.a.b)"), "1");
  EXPECT_EQ(worked_out(R"({"a": 1, "c": 2}.b)"),
            R"(found no member 'b', expected one of a, c in '{"a": 1, "c": 2}.b')");
}

TEST(Expression, TextsHaveFiguresInThem) {
  EXPECT_EQ(worked_out("f\"{half(three):.2f} of {three}, {{}}, {[1, 2]}\""),
            "\"1.50 of 3, {}, 1, 2\"");
  EXPECT_EQ(worked_out("{three:+.1f} % \"more\"", true), "\"+3.0 % \\\"more\\\"\"");
  EXPECT_EQ(worked_out("{\"\" if three == 3 else \"not \"}met", true), "\"met\"");
  EXPECT_THAT(worked_out("{three:.2q}", true), HasSubstr("found the format '.2q'"));
  EXPECT_THAT(worked_out("a } b", true), HasSubstr("expected a brace that opens before it"));
  EXPECT_THAT(worked_out("{three", true), HasSubstr("found the end, expected \"}\""));
}

}  // namespace
}  // namespace ridgeline::studies

#include <gtest/gtest.h>

#include "lab/tests/unit/studies/worked_out.hpp"

namespace ridgeline::studies {
namespace {

using fixtures::worked_out;

TEST(ExpressionFunctions, FunctionsOfListsAndNumbers) {
  EXPECT_EQ(worked_out("sum([1, 2]) + max(1, 5) + min([4, 3])"), "11");
  EXPECT_EQ(worked_out("mean([1, 2])"), "1.5");
  EXPECT_EQ(worked_out("round(2.5)"), "3");
  EXPECT_EQ(worked_out("round(0.652174499, 6)"), "0.652174");
  EXPECT_EQ(worked_out("percentile([1, 2, 3], 50)"), "2");
  EXPECT_EQ(worked_out(R"(sorted([{"a": 2}, {"a": 1}], by="a"))"), R"([{"a":1},{"a":2}])");
  EXPECT_EQ(worked_out("unique([1, 2, 1.0])"), "[1,2]");
  EXPECT_EQ(worked_out("index([4, 5], 5)"), "1");
  EXPECT_EQ(worked_out("otherwise(null, 7)"), "7");
  EXPECT_EQ(worked_out("any([false]) or all([])"), "true");
  EXPECT_EQ(worked_out("mean([])"), "mean(): found an empty list in 'mean([])'");
  EXPECT_EQ(worked_out("max([1, \"a\"])"),
            "max(): found \"a\" in the list, expected numbers in 'max([1, \"a\"])'");
}

}  // namespace
}  // namespace ridgeline::studies

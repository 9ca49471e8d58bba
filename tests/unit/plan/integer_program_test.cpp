#include "plan/integer_program.hpp"

#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

TEST(IntegerProgram, RoundsUpWhereAFractionWouldDo) {
  // 3 a + 5 b >= 14 at least cost 2 a + 3 b: two of b and two of a cost 10, three of b 9.
  IntegerProgram program{
      .columns = {{.cost = 2.0, .highest = 10.0, .is_integer = true},
                  {.cost = 3.0, .highest = 10.0, .is_integer = true}},
      .rows = {{.lowest = 14.0, .highest = 1e30, .terms = {{0, 3.0}, {1, 5.0}}}}};
  auto values = solve(program);
  if (!values) {
    ASSERT_EQ(values.error().front().hint, "apt install coinor-libcbc3");
    GTEST_SKIP() << values.error().front().message;
  }
  ASSERT_TRUE(*values);
  EXPECT_NEAR((**values)[0], 0.0, 1e-6);
  EXPECT_NEAR((**values)[1], 3.0, 1e-6);
  program.rows.push_back({.lowest = 0.0, .highest = 1.0, .terms = {{0, 1.0}, {1, 1.0}}});
  EXPECT_FALSE(solve(program)->has_value());
}

}  // namespace
}  // namespace ridgeline::plan

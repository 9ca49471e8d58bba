#include "lab/studies/expression_values.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/expression.hpp"

namespace ridgeline::studies {
namespace {

TEST(ExpressionValues, WholeNumbersDivideDownwardsAndDoNotOverflow) {
  EXPECT_EQ(of_whole("//", -7, 2)->as_integer(), -4);
  EXPECT_EQ(of_whole("%", -7, 2)->as_integer(), 1);
  EXPECT_FALSE(of_whole("*", std::numeric_limits<std::int64_t>::max(), 2));
  EXPECT_FALSE(of_whole("-", std::numeric_limits<std::int64_t>::min(), 1));
}

TEST(ExpressionValues, FiguresHaveTheFormatsOfFmt) {
  EXPECT_EQ(figure_text(Value::real(2.345, {}), "+.2f"), "+2.35");
  EXPECT_EQ(figure_text(Value::integer(7, {}), ".1f"), "7.0");
  EXPECT_EQ(figure_text(Value::integer(7, {}), "03"), "007");
  EXPECT_EQ(figure_text(Value::real(0.0, {}), ""), "0");
  EXPECT_FALSE(figure_text(Value::string("a", {}), ".1f"));
  EXPECT_FALSE(figure_text(Value::real(1.0, {}), "q"));
}

TEST(ExpressionValues, OnlyNumbersAndTextsHaveAnOrder) {
  EXPECT_EQ(order_of(Value::integer(1, {}), Value::real(1.0, {})), 0);
  EXPECT_LT(*order_of(Value::string("a", {}), Value::string("b", {})), 0);
  EXPECT_FALSE(order_of(Value::string("a", {}), Value::integer(1, {})));
  EXPECT_FALSE(equal(Value(), Value::integer(0, {})));
}

}  // namespace
}  // namespace ridgeline::studies

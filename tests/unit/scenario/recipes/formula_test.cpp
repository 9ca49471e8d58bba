#include "scenario/recipes/formula.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::scenario {
namespace {

constexpr FormulaInputs kKnown{.clients = 64, .prompt_tokens = 8192, .tensor_parallel_size = 8};

double value_of(std::string_view formula, const FormulaInputs& inputs = kKnown) {
  const auto value = evaluate(formula, inputs);
  EXPECT_TRUE(value && *value) << formula;
  return value && *value ? **value : -1.0;
}

std::string problem_of(std::string_view formula) {
  const auto value = evaluate(formula, kKnown);
  return value ? std::string("none") : value.error().front().message;
}

TEST(RecipeFormula, ComputesSumsOfProducts) {
  EXPECT_EQ(value_of(" 2 + 3 * 4 - 6 / 2"), 11.0);
  EXPECT_EQ(value_of("(2 + 3) * 4"), 20.0);
  EXPECT_EQ(value_of("8 - 4 - 2"), 2.0);
  EXPECT_EQ(value_of("clients * tensor_parallel_size"), 512.0);
}

TEST(RecipeFormula, HasTheFunctionsThatRecipesUse) {
  EXPECT_EQ(value_of("max(8192, round_up(clients + prompt_tokens + 64, 64))"), 8320.0);
  EXPECT_EQ(value_of("min(clients, 16)"), 16.0);
  EXPECT_EQ(value_of("from(clients, 64, 30, 10)"), 30.0);
  EXPECT_EQ(value_of("from(clients, 65, 30, 10)"), 10.0);
}

TEST(RecipeFormula, IsNotKnownWhereANameIsNot) {
  const FormulaInputs nothing{};
  const auto value = evaluate("max(8192, clients)", nothing);
  ASSERT_TRUE(value.has_value());
  EXPECT_FALSE(value->has_value());
  EXPECT_EQ(value_of("tensor_parallel_size", nothing), 1.0);
}

TEST(RecipeFormula, SaysWhatItCannotRead) {
  EXPECT_EQ(problem_of("users + 1"), "\"users\" is no name of a formula");
  EXPECT_EQ(problem_of("sum(1, 2)"), "\"sum\" is no function of a formula");
  EXPECT_EQ(problem_of("max(1)"), "max takes 2 values, found 1");
  EXPECT_EQ(problem_of("1 2"), "\"2\" is left over");
  EXPECT_EQ(problem_of("(1"), "expected \")\" before \"\"");
  EXPECT_EQ(problem_of("+"), "expected a number or a name before \"+\"");
}

}  // namespace
}  // namespace ridgeline::scenario

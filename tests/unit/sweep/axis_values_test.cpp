#include "sweep/axis_values.hpp"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "unit/sweep/documents.hpp"

namespace ridgeline::sweep {
namespace {

TEST(SameValue, ComparesNumbersByValueAndTheRestAsWritten) {
  EXPECT_TRUE(same_value(yaml("2"), yaml("2.0")));
  EXPECT_FALSE(same_value(yaml("2"), yaml("\"2\"")));
  EXPECT_TRUE(same_value(yaml("{a: 1}"), yaml("{ a:  1 }")));
  EXPECT_FALSE(same_value(yaml("h100"), yaml("h200")));
}

TEST(ReadAxis, TakesOneValueAsAListOfOne) {
  core::Errors errors;
  const auto axis = read_axis(
      "engine.max_num_seqs", scenario::find_option("engine.max_num_seqs"), yaml("64"), errors);
  ASSERT_TRUE(axis);
  ASSERT_EQ(axis->values.size(), 1U);
  EXPECT_EQ(axis->values[0].as_integer(), 64);
  EXPECT_EQ(axis->derived, Derived::kNothing);
}

TEST(ReadAxis, AutoIsAValueWhereTheSettingHasIt) {
  core::Errors errors;
  const auto format = read_axis("engine.kv_cache_dtype",
                                scenario::find_option("engine.kv_cache_dtype"),
                                yaml("[auto, fp8]"),
                                errors);
  ASSERT_TRUE(format);
  EXPECT_EQ(format->values.size(), 2U);
  const auto alone = read_axis("engine.kv_cache_dtype",
                               scenario::find_option("engine.kv_cache_dtype"),
                               yaml("auto"),
                               errors);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->derived, Derived::kNothing);
}

TEST(ReadAxis, KeepsWholeNumbersWholeAndRoundsTheOthers) {
  core::Errors errors;
  const auto axis = read_axis("x", nullptr, yaml("{from: 0.1, to: 0.8, factor: 2}"), errors);
  ASSERT_TRUE(axis);
  ASSERT_EQ(axis->values.size(), 4U);
  EXPECT_EQ(axis->values[3].as_real(), 0.8);
  const auto whole = read_axis("x", nullptr, yaml("{from: 1, to: 9, step: 4}"), errors);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->values[2].kind(), document::Node::Kind::kInteger);
}

TEST(ReadAxis, ListsTheFirstValuesThatAreRefusedAndCountsTheRest) {
  core::Errors errors;
  const auto axis = read_axis("engine.max_num_seqs",
                              scenario::find_option("engine.max_num_seqs"),
                              yaml("{from: -99, to: 64, step: 1}"),
                              errors);
  EXPECT_FALSE(axis);
  // -99 to 0 are 100 values below the least.
  ASSERT_EQ(errors.size(), 21U);
  EXPECT_EQ(errors.back().message, "80 more values are refused");
}

}  // namespace
}  // namespace ridgeline::sweep

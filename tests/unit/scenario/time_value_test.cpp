#include "scenario/time_value.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {
namespace {

TEST(TimeValue, ABareNumberIsSecondsAsTextAndAsANumber) {
  const auto half = core::Duration::milliseconds(500);
  EXPECT_EQ(time_value("0.5"), half);
  EXPECT_EQ(time_value("500ms"), half);
  EXPECT_EQ(time_value(document::Node::real(0.5, {})), half);
  EXPECT_EQ(time_value(document::Node::string("0.5", {})), half);
  EXPECT_EQ(time_value(document::Node::integer(30, {})), core::Duration::seconds(30));
}

TEST(TimeValue, IsNothingElse) {
  for (const char* text : {"", "s", "1x", "-1", "-1s", "1e300", "nan", "inf", "1 2"}) {
    EXPECT_EQ(time_value(text), std::nullopt) << text;
  }
  EXPECT_EQ(time_value(document::Node::boolean(true, {})), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::scenario

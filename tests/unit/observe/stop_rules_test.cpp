#include "observe/stop_rules.hpp"

#include <gtest/gtest.h>

namespace ridgeline::observe {
namespace {

TEST(StopRules, AreRead) {
  const auto errors = parse_stop_rule("errors>5%");
  ASSERT_TRUE(errors.has_value());
  EXPECT_EQ(errors->what, StopRule::What::kErrors);
  EXPECT_DOUBLE_EQ(errors->limit, 0.05);
  const auto ttft = parse_stop_rule("ttft_p99>1500ms");
  ASSERT_TRUE(ttft.has_value());
  EXPECT_EQ(ttft->what, StopRule::What::kTtft);
  EXPECT_DOUBLE_EQ(ttft->limit, 1.5);
  EXPECT_DOUBLE_EQ(ttft->quantile, 0.99);
  const auto in_flight = parse_stop_rule("in_flight>5000");
  ASSERT_TRUE(in_flight.has_value());
  EXPECT_EQ(in_flight->what, StopRule::What::kInFlight);
  EXPECT_EQ(in_flight->limit, 5000.0);
  EXPECT_EQ(in_flight->text, "in_flight>5000");
}

TEST(StopRules, OthersAreRefused) {
  for (const char* text : {"",
                           "errors",
                           "errors>",
                           "errors>5",
                           "errors>-1%",
                           "errors>101%",
                           "errors>nan%",
                           "errors>5%%",
                           "ttft>10s",
                           "ttft_p>10s",
                           "ttft_p101>10s",
                           "ttft_p99>10 parsecs",
                           "in_flight>x",
                           "e2e_p99>1s"}) {
    EXPECT_FALSE(parse_stop_rule(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace ridgeline::observe

#include "report/power.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/power_summary.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {
namespace {

TEST(PowerReport, ARangeStandsWhereTheGpuWasNotMeasured) {
  metrics::PowerSummary power{.mean = 450.4,
                              .low = 400.0,
                              .high = 500.0,
                              .decode = std::nullopt,
                              .prefill = std::nullopt,
                              .joules_per_output_token = std::nullopt};
  TextStyle style;
  style.ascii = true;
  const std::vector<Piece> bounded = power_pieces(power, style);
  ASSERT_EQ(bounded.size(), 1U);
  EXPECT_EQ(bounded.front().text, "450 W per GPU (400-500)");
  power.own_law = true;
  power.joules_per_output_token = 0.25;
  const std::vector<Piece> own = power_pieces(power, style);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own.front().text, "450 W per GPU");
  EXPECT_EQ(own.back().text, "0.250 J per output token");
}

}  // namespace
}  // namespace ridgeline::report

#include "latency/measured/peaks.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::latency::measured {
namespace {

TEST(Peaks, DecimalsOfAColumn) {
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{1.0, 20.0}), 1.0);
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{0.25, 1.5, 3.0}), 0.01);
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{0.127969, 0.1}), 1e-6);
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{1.0 / 3.0}), 1e-12);
  // Small values are no multiples of a step because they are near zero, or near one of it.
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{0.00086, 0.00075}), 1e-5);
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{0.001000937}), 1e-9);
  EXPECT_DOUBLE_EQ(decimal_step(std::vector{12448.919, 0.0, 38.755}), 1e-3);
}

TEST(Peaks, ARowAllowsAnIntervalOfPeaks) {
  // 100 TFLOP/s at an MFU of 0.5, which may be 0.45 to 0.55.
  const MfuRow row{
      .flops = 1e9, .latency_us = 10.0, .mfu = 0.5, .latency_step = 0.0, .mfu_step = 0.1};
  EXPECT_NEAR(peaks_of(row).low, 100.0 / 0.55, 1e-9);
  EXPECT_NEAR(peaks_of(row).high, 100.0 / 0.45, 1e-9);
  EXPECT_TRUE(std::isinf(
      peaks_of({.flops = 1e9, .latency_us = 10.0, .mfu = 0.0, .latency_step = 0.0, .mfu_step = 0.1})
          .high));
}

TEST(Peaks, TheFitExplainsMostRowsAndNamesTheOthers) {
  std::vector<MfuRow> rows;
  for (const double mfu : {0.1, 0.25, 0.5, 0.8}) {
    rows.push_back({.flops = 1e9 * mfu,
                    .latency_us = 2.0,
                    .mfu = mfu,
                    .latency_step = 0.0,
                    .mfu_step = 0.001});
  }
  // 1e9 FLOP in 2 us at an MFU of 1: 500 TFLOP/s. One row says twice that.
  rows[1].mfu /= 2.0;
  const PeakFit fit = fit_peak(rows);
  EXPECT_EQ(fit.agreeing(), 3U);
  EXPECT_THAT(fit.disagreeing, testing::ElementsAre(1));
  // The narrowest is the row of 0.8: 500 * 0.8 / (0.8 +- 0.0005).
  EXPECT_NEAR(fit.peak.low, 500.0 * 0.8 / 0.8005, 1e-9);
  EXPECT_NEAR(fit.peak.high, 500.0 * 0.8 / 0.7995, 1e-9);
}

}  // namespace
}  // namespace ridgeline::latency::measured

#include "plan/share.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::plan {
namespace {

Target p99_ttft() {
  return percentile_target(
      metrics::Metric::kTtft, metrics::Statistic::kP99, core::Duration::milliseconds(500));
}

TEST(Margin, ChangesSignAtTheAllowedShare) {
  EXPECT_LT(margin_of(p99_ttft(), {.requests = 10'000, .exceeded = 90}), 0.0);
  EXPECT_NEAR(margin_of(p99_ttft(), {.requests = 10'000, .exceeded = 100}), 0.0, 0.01);
  EXPECT_GT(margin_of(p99_ttft(), {.requests = 10'000, .exceeded = 110}), 0.0);
}

TEST(Margin, OfAMeanIsItsRatioToTheLimit) {
  const Target mean = percentile_target(
      metrics::Metric::kTtft, metrics::Statistic::kMean, core::Duration::milliseconds(500));
  EXPECT_NEAR(margin_of(mean, {.requests = 10, .exceeded = 0, .sum_s = 5.0}), 0.0, 1e-12);
  EXPECT_GT(margin_of(mean, {.requests = 10, .exceeded = 1, .sum_s = 1.0}), 0.0);
}

TEST(Influences, SumToNothingAndFollowTheirBatch) {
  TargetCounts counts;
  counts.batches = {{.requests = 1000, .exceeded = 5}, {.requests = 1000, .exceeded = 15}};
  const std::vector<double> parts = influences(p99_ttft(), counts);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_LT(parts[0], 0.0);
  EXPECT_GT(parts[1], 0.0);
  EXPECT_NEAR(parts[0] + parts[1], 0.0, 0.1);
}

TEST(SdOfMean, OfFourNumbers) {
  const std::vector<double> numbers = {1.0, 2.0, 3.0, 4.0};
  EXPECT_NEAR(*sd_of_mean(numbers), 0.6454972, 1e-6);
  EXPECT_FALSE(sd_of_mean(std::vector<double>{1.0}).has_value());
}

}  // namespace
}  // namespace ridgeline::plan

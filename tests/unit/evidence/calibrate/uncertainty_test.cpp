#include "evidence/calibrate/uncertainty.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "latency/accuracy/bands.hpp"
#include "unit/evidence/calibrate/measured_loops.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

/// The end of a fit of one constant, which moves each of so many records by its whole range.
struct Ended {
  explicit Ended(const std::vector<double>& left)
      : evidence(measured_loops(std::vector<std::int64_t>(left.size(), 2))),
        observations(evidence, {}),
        constants(constants_of({"delivery_time"})),
        jacobian(left.size(), {1.0}),
        residuals(left) {
    EXPECT_EQ(observations.find({}), "");
    EXPECT_EQ(observations.size(), left.size());
    constants.front().value = 50'000.0;
  }
  [[nodiscard]] FitEnd end() const {
    return {.observations = observations,
            .constants = constants,
            .jacobian = jacobian,
            .residuals = residuals};
  }
  [[nodiscard]] Compared compared() const {
    return {.observations = observations, .jacobian = jacobian, .residuals = residuals};
  }

  std::vector<validate::Evidence> evidence;
  Observations observations;
  Constants constants;
  Rows jacobian;
  std::vector<double> residuals;
};

// What is left of a record, less the mean of the others, which their own fit takes away.
TEST(Uncertainty, ARecordIsPredictedFromTheOthers) {
  const Ended ended({0.03, -0.01, 0.01});
  const auto held_out = held_out_residuals(ended.end(), ended.compared());
  EXPECT_NEAR(held_out[0], 0.03, 1e-12);
  EXPECT_NEAR(held_out[1], -0.01 - 0.02, 1e-12);
}

// With two measurements a normal law's tenth lies far out: 6.3 times their spread.
TEST(Uncertainty, BandsOfFewRecordsAreWide) {
  const Ended ended({0.0, 0.0, 0.0});
  const auto bands = bands_of(ended.observations, {0.1, 0.1, 0.1});
  ASSERT_EQ(bands.size(), 1U);
  EXPECT_EQ(bands[0].metric, accuracy::Metric::kTtft);
  EXPECT_EQ(bands[0].records, 3);
  EXPECT_EQ(bands[0].values[0], "h100");
  // All are 10 % too high, within the noise of 0.3 %.
  EXPECT_LT(bands[0].p90.low, 9.5);
  EXPECT_GT(bands[0].p90.low, 8.0);
  EXPECT_GT(bands[0].p50.low, bands[0].p90.low);
  const auto wide = bands_of(ended.observations, {0.1, 0.0, -0.1});
  EXPECT_LT(wide[0].p90.low, -25.0);
  const Ended two({0.0, 0.0});
  EXPECT_LT(bands_of(two.observations, {0.1, -0.1})[0].p90.low, -60.0);
  EXPECT_TRUE(bands_of(Ended({0.0}).observations, {0.1}).empty());
}

TEST(Uncertainty, IntervalsHoldTheFittedValues) {
  const Ended ended({0.01, -0.01, 0.01, -0.01});
  const auto fitted = with_intervals(ended.end());
  ASSERT_EQ(fitted.size(), 1U);
  EXPECT_EQ(fitted[0].value, 50'000.0);
  EXPECT_LE(fitted[0].lowest.value(), 50'000.0);
  EXPECT_GE(fitted[0].highest.value(), 50'000.0);
  EXPECT_FALSE(with_intervals(ended.end(), false)[0].lowest.has_value());
  EXPECT_FALSE(with_intervals(Ended({0.01}).end())[0].lowest.has_value());
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate

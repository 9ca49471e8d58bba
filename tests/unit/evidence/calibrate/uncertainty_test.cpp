#include "evidence/calibrate/uncertainty.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
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

  std::vector<validate::Evidence> evidence;
  Observations observations;
  Constants constants;
  Rows jacobian;
  std::vector<double> residuals;
};

// What is left of a record, less the mean of the others, which their own fit takes away.
TEST(Uncertainty, ARecordIsPredictedFromTheOthers) {
  const Ended ended({0.03, -0.01, 0.01});
  const auto held_out = held_out_residuals(ended.end());
  EXPECT_NEAR(held_out[0], 0.03, 1e-12);
  EXPECT_NEAR(held_out[1], -0.01 - 0.02, 1e-12);
  const auto bands = bands_of(ended.observations, {0.1, -0.1, 0.1});
  ASSERT_EQ(bands.size(), 1U);
  EXPECT_EQ(bands[0].figure, "ttft");
  EXPECT_DOUBLE_EQ(bands[0].percent, 10.0);
  EXPECT_EQ(bands[0].n, 3);
}

// 1 % of the range of 100 ms is 1 ms.
TEST(Uncertainty, IntervalsAreAsWideAsTheRecordsDiffer) {
  const Ended ended({0.01, -0.01, 0.01, -0.01});
  const auto fitted = with_intervals(ended.end(), 0);
  ASSERT_EQ(fitted.size(), 1U);
  EXPECT_EQ(fitted[0].value, 50'000.0);
  EXPECT_GE(fitted[0].lowest.value(), 49'000.0);
  EXPECT_LT(fitted[0].lowest.value(), 49'800.0);
  EXPECT_GT(fitted[0].highest.value(), 50'200.0);
  EXPECT_LE(fitted[0].highest.value(), 51'000.0);
  EXPECT_FALSE(with_intervals(Ended({0.01}).end(), 0)[0].lowest.has_value());
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate

#include "report/chart/lanes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(Lanes, StandBelowEachOther) {
  Lanes lanes(verbs::fixtures::a_result(), {50.0, 30.0});
  EXPECT_LT(lanes.top(0), lanes.bottom(0));
  EXPECT_LT(lanes.bottom(0), lanes.top(1));
  EXPECT_LT(lanes.bottom(1), lanes.canvas().height());
}

TEST(Lanes, TheLastWindowEndsWithTheRun) {
  const auto& result = verbs::fixtures::a_result();
  double sum = 0.0;
  for (const double length : window_lengths(result)) {
    sum += length;
  }
  EXPECT_NEAR(sum, number_at(result, "series.end_s"), 1e-9);
  Lanes lanes(result, {50.0});
  EXPECT_DOUBLE_EQ(lanes.time().pixel(1e9), Lanes::kRight);
}

TEST(Lanes, LongAxesCountMinutesAndHours) {
  EXPECT_EQ(axis_unit(120.0).name, "seconds");
  EXPECT_EQ(axis_unit(600.0).name, "minutes");
  EXPECT_EQ(axis_unit(86'400.0).name, "hours");
  EXPECT_EQ(axis_unit(86'400.0).seconds, 3'600.0);
}

TEST(Lanes, RatesArePerSecond) {
  const auto& result = verbs::fixtures::a_result();
  const auto rates = per_second(result, "series.rates.arrivals");
  const auto lengths = window_lengths(result);
  double requests = 0.0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    requests += rates[i] * lengths[i];
  }
  EXPECT_NEAR(requests, 200.0, 1e-6);
}

}  // namespace
}  // namespace ridgeline::report::figures

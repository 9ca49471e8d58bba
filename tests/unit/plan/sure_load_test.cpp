#include "plan/sure_load.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/slo.hpp"
#include "plan/capacity.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// Standard normal: 90 % lie below.
constexpr double kNinety = 1.2815515655446004;

Targets targets(double ttft_ms, double tpot_ms) {
  const auto of = [](metrics::Metric metric, double ms) {
    return percentile_target(
        metric, metrics::Statistic::kMean, core::Duration::saturating(core::Seconds(ms / 1e3)));
  };
  return {of(metrics::Metric::kTtft, ttft_ms), of(metrics::Metric::kTpot, tpot_ms)};
}

double limit_ms(const Target& target) {
  return target.limit_of(target.metric())->to_milliseconds();
}

TargetResult predicted(std::size_t target, double ms) {
  return {.target = target, .value_ms = Interval{.value = ms, .lo = ms, .hi = ms}, .met = true};
}

/// A deployment whose TPOT is 1 ms for each client.
core::Result<std::optional<Capacity>> one_ms_a_client(const Targets& wanted, double /*guess*/) {
  Capacity found;
  found.load = std::floor(limit_ms(wanted.back()) + 1e-6);
  found.limit = found.load > 0.0 ? Limit::kTarget : Limit::kNone;
  return std::optional(std::move(found));
}

core::Result<std::optional<SureLoad>> sure_load(const LatencyDoubt& doubt) {
  const Targets asked = targets(500.0, 30.0);
  return find_sure_load(one_ms_a_client, **one_ms_a_client(asked, 1.0), asked, doubt, 0.9);
}

TEST(SureLoad, TargetsLeaveRoomForTheErrorOfTheirMetric) {
  // exp(-1.2816 * 0.2) and exp(-1.2816 * 0.5) of the limits.
  const Targets found = tightened(targets(500.0, 30.0), {.tpot = 0.2, .ttft = 0.5}, 0.9);
  EXPECT_NEAR(limit_ms(found[0]), 500.0 * std::exp(-kNinety * 0.5), 1e-6);
  EXPECT_NEAR(limit_ms(found[1]), 30.0 * std::exp(-kNinety * 0.2), 1e-6);
}

TEST(SureLoad, AsSureAsTheTargetThatIsNearest) {
  const LatencyDoubt doubt{.tpot = 0.1, .ttft = 0.5};
  const Targets asked = targets(500.0, 30.0);
  // One deviation below the limit of TPOT: 84.13 % of a normal variable.
  EXPECT_NEAR(
      probability_met(asked, {predicted(0, 50.0), predicted(1, 30.0 * std::exp(-0.1))}, doubt),
      0.8413,
      1e-4);
  EXPECT_NEAR(probability_met(asked, {predicted(0, 500.0), predicted(1, 3.0)}, doubt), 0.5, 1e-9);
  EXPECT_EQ(probability_met(asked, {predicted(0, 1.0), predicted(1, 1.0)}, doubt), kMostSure);
}

TEST(SureLoad, WhatMeetsTightenedTargetsIsAsSureAsAsked) {
  const LatencyDoubt doubt{.tpot = 0.3, .ttft = 0.1};
  const auto found = sure_load(doubt);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->estimate.load, 30.0);
  EXPECT_EQ((*found)->sure.load, std::floor(30.0 * std::exp(-kNinety * 0.3)));
  EXPECT_GE(probability_met(targets(500.0, 30.0), {predicted(1, (*found)->sure.load)}, doubt), 0.9);
  EXPECT_NEAR(sd_of(**found, 0.9), std::log(30.0 / (*found)->sure.load) / kNinety, 1e-12);
}

TEST(SureLoad, WithoutABandNoLoadIsSure) {
  const double unknown = std::numeric_limits<double>::infinity();
  const auto found = sure_load({.tpot = unknown, .ttft = 0.1});
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->estimate.load, 30.0);
  EXPECT_EQ((*found)->sure.load, 0.0);
}

}  // namespace
}  // namespace ridgeline::plan

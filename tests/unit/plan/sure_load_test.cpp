#include "plan/sure_load.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "latency/accuracy/bands.hpp"
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

/// Errors that are normal in logarithms, without a middle of their own.
accuracy::Band normal_band(double sd) {
  const auto percent = [&](double z) { return 100.0 * (std::exp(z * sd) - 1.0); };
  constexpr double kQuartile = 0.6744897501960817;
  constexpr double kNinetyFive = 1.6448536269514722;
  return {.p50 = {.low = percent(-kQuartile), .high = percent(kQuartile)},
          .p90 = {.low = percent(-kNinetyFive), .high = percent(kNinetyFive)}};
}

core::Result<std::optional<SureLoad>> sure_load(const LatencyDoubt& doubt,
                                                double confidence = 0.9) {
  const Targets asked = targets(500.0, 30.0);
  return find_sure_load(one_ms_a_client, **one_ms_a_client(asked, 1.0), asked, doubt, confidence);
}

TEST(SureLoad, TargetsLeaveRoomForTheErrorOfTheirMetric) {
  // exp(-1.2816 * 0.2) and exp(-1.2816 * 0.5) of the limits.
  const accuracy::Band tpot = normal_band(0.2);
  const accuracy::Band ttft = normal_band(0.5);
  const Targets found = tightened(targets(500.0, 30.0), {.tpot = tpot, .ttft = ttft}, 0.9);
  EXPECT_NEAR(limit_ms(found[0]), 500.0 * std::exp(-kNinety * 0.5), 1e-6);
  EXPECT_NEAR(limit_ms(found[1]), 30.0 * std::exp(-kNinety * 0.2), 1e-6);
}

TEST(SureLoad, AsSureAsTheTargetThatIsNearest) {
  const accuracy::Band tpot = normal_band(0.1);
  const accuracy::Band ttft = normal_band(0.5);
  const LatencyDoubt doubt{.tpot = tpot, .ttft = ttft};
  const Targets asked = targets(500.0, 30.0);
  // One deviation below the limit of TPOT: 84.13 % of a normal variable.
  EXPECT_NEAR(
      probability_met(asked, {predicted(0, 50.0), predicted(1, 30.0 * std::exp(-0.1))}, doubt),
      0.8413,
      1e-4);
  EXPECT_NEAR(probability_met(asked, {predicted(0, 500.0), predicted(1, 3.0)}, doubt), 0.5, 1e-9);
  EXPECT_EQ(probability_met(asked, {predicted(0, 1.0), predicted(1, 1.0)}, doubt),
            accuracy::kMostSure);
}

TEST(SureLoad, WhatMeetsTightenedTargetsIsAsSureAsAsked) {
  const accuracy::Band tpot = normal_band(0.3);
  const accuracy::Band ttft = normal_band(0.1);
  const LatencyDoubt doubt{.tpot = tpot, .ttft = ttft};
  const auto found = sure_load(doubt);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->estimate.load, 30.0);
  EXPECT_EQ((*found)->sure.load, std::floor(30.0 * std::exp(-kNinety * 0.3)));
  EXPECT_GE(probability_met(targets(500.0, 30.0), {predicted(1, (*found)->sure.load)}, doubt), 0.9);
  EXPECT_NEAR((*found)->sd, std::log(30.0 / (*found)->sure.load) / kNinety, 1e-12);
}

TEST(SureLoad, AnAttainmentIsAsSureAsItsTightestLimitsThatHold) {
  Target both;
  both.is_attainment = true;
  both.limits[static_cast<std::size_t>(metrics::Metric::kTtft)] = core::Duration::milliseconds(500);
  both.limits[static_cast<std::size_t>(metrics::Metric::kTpot)] = core::Duration::milliseconds(30);
  const accuracy::Band tpot = normal_band(0.3);
  const LatencyDoubt doubt{.tpot = tpot, .ttft = tpot};
  const Targets stated = {targets(500.0, 30.0)[1], both};
  const Targets all = with_levels(stated, doubt);
  ASSERT_EQ(all.size(), 2 + kSurenessLevels.size());
  EXPECT_EQ(with_levels(stated, {}).size(), 2U);
  // A run in which they hold up to 80 %.
  std::vector<TargetResult> results;
  for (std::size_t i = 0; i < all.size(); ++i) {
    results.push_back({.target = i, .met = i < 2 || kSurenessLevels.at(i - 2) <= 0.8});
  }
  results[0].value_ms = Interval{.value = 1.0, .lo = 1.0, .hi = 1.0};
  take_levels(stated, results);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].sure, 0.8);
  EXPECT_EQ(probability_met(stated, results, doubt), 0.8);
}

TEST(SureLoad, TheMiddleOfABandMovesTheTarget) {
  // Predictions are a third of what is measured, all of them.
  const accuracy::Range third{.low = -66.667, .high = -66.666};
  const accuracy::Band ttft{.p50 = third, .p90 = third};
  const accuracy::Band tpot = normal_band(0.1);
  const Targets found = tightened(targets(600.0, 30.0), {.tpot = tpot, .ttft = ttft}, 0.9);
  EXPECT_NEAR(limit_ms(found[0]), 200.0, 0.1);
}

TEST(SureLoad, AtOneHalfTheSpreadIsThatOfASurerLoad) {
  const accuracy::Band tpot = normal_band(0.3);
  const LatencyDoubt doubt{.tpot = tpot, .ttft = tpot};
  const auto found = sure_load(doubt, 0.5);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->sure.load, 30.0);
  EXPECT_NEAR((*found)->sd, 0.3, 0.05);
}

TEST(SureLoad, WithoutABandNoLoadIsSure) {
  const accuracy::Band ttft = normal_band(0.1);
  const auto found = sure_load({.tpot = {}, .ttft = ttft});
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->estimate.load, 30.0);
  EXPECT_EQ((*found)->sure.load, 0.0);
}

}  // namespace
}  // namespace ridgeline::plan

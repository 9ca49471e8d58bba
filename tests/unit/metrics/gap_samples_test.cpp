#include "metrics/gap_samples.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {
namespace {

domain::TokenGaps gaps_of(std::int64_t first,
                          std::int64_t growth,
                          std::int64_t count,
                          std::int64_t requests) {
  return {.gap = core::Duration::ticks(first),
          .growth = core::Duration::ticks(growth),
          .count = count,
          .requests = requests};
}

TEST(GapSamples, KeepsOneRunForOneSeries) {
  GapSamples singly(Percentiles::kExact);
  for (std::int64_t i = 0; i < 1000; ++i) {
    singly.add(gaps_of(500 + 7 * i, 0, 1, 3));
  }
  GapSamples in_pieces(Percentiles::kExact);
  in_pieces.add(gaps_of(500, 7, 400, 3));
  in_pieces.add(gaps_of(500 + 7 * 400, 7, 599, 3));
  in_pieces.add(gaps_of(500 + 7 * 999, 0, 1, 3));
  GapSamples whole(Percentiles::kExact);
  whole.add(gaps_of(500, 7, 1000, 3));
  GapSamples backwards(Percentiles::kExact);
  backwards.add(gaps_of(500 + 7 * 999, -7, 1000, 3));
  GapSamples sketched(Percentiles::kSketch);
  sketched.add(gaps_of(500, 7, 1000, 3));
  for (GapSamples* samples : {&singly, &in_pieces, &backwards}) {
    EXPECT_EQ(samples->num_runs(), 1U);
    EXPECT_EQ(samples->fingerprint(), whole.fingerprint());
    EXPECT_EQ(samples->distribution_ms(), whole.distribution_ms());
  }
  EXPECT_EQ(sketched.fingerprint(), whole.fingerprint());
  // The median of 500, 507, ..., each three times, is the mean of numbers 499 and 500.
  EXPECT_DOUBLE_EQ(whole.distribution_ms()->of(Statistic::kP50), (500 + 7 * 499.5) / 1e9);
}

TEST(GapSamples, OtherSeriesAreOtherRuns) {
  GapSamples samples(Percentiles::kExact);
  samples.add(gaps_of(100, 10, 5, 2));
  samples.add(gaps_of(150, 11, 5, 2));  // Follows, but grows otherwise.
  samples.add(gaps_of(205, 11, 5, 3));  // Follows, but for more requests.
  samples.add(gaps_of(261, 11, 5, 3));  // Grows alike, but from another value.
  EXPECT_EQ(samples.num_runs(), 4U);
  EXPECT_EQ(samples.fingerprint().count, 50U);
  EXPECT_EQ(samples.fingerprint().sum, 2U * 600 + 2U * 860 + 3U * 1135 + 3U * 1415);
}

/// A series ends where it gets too long for one run, and goes on.
TEST(GapSamples, ALongSeriesIsRunsOfAMillion) {
  constexpr std::int64_t kMillion = std::int64_t{1} << 20;
  GapSamples samples(Percentiles::kExact);
  for (std::int64_t i = 0; i < 6; ++i) {
    samples.add(gaps_of(1'000 + 3 * i * (kMillion / 2), 3, kMillion / 2, 1));
  }
  EXPECT_EQ(samples.num_runs(), 3U);
  EXPECT_EQ(samples.fingerprint().count, 3U * kMillion);
}

TEST(GapSamples, NothingComesOfNothing) {
  for (const Percentiles percentiles : {Percentiles::kExact, Percentiles::kSketch}) {
    GapSamples samples(percentiles);
    samples.add(gaps_of(5, 3, 0, 2));
    samples.add(gaps_of(5, 3, 2, 0));
    EXPECT_FALSE(samples.distribution_ms());
    EXPECT_EQ(samples.fingerprint().count, 0U);
  }
}

/// Asked for on the way, and once more at the end.
TEST(GapSamples, GoesOnAfterItWasAsked) {
  GapSamples samples(Percentiles::kExact);
  samples.add(gaps_of(100, 0, 4, 1));
  EXPECT_DOUBLE_EQ(samples.distribution_ms()->of(Statistic::kMax), 100 / 1e9);
  samples.add(gaps_of(200, 0, 4, 1));
  EXPECT_DOUBLE_EQ(samples.distribution_ms()->of(Statistic::kP50), 150 / 1e9);
}

TEST(GapSamplesDeathTest, ANegativeGapIsABug) {
  GapSamples samples(Percentiles::kExact);
  samples.add(gaps_of(5, -3, 3, 1));
  EXPECT_DEATH(static_cast<void>(samples.fingerprint()), "negative gap");
}

}  // namespace
}  // namespace ridgeline::metrics

#include "evidence/validate/coverage.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "latency/accuracy/bands.hpp"
#include "support/scored_record.hpp"

namespace ridgeline::evidence::validate {
namespace {

using test::scored_record;

TEST(ErrorBands, WhatSaysNothingOfThemIsLeftOut) {
  ScoredRecord one = scored_record(0, 5.0);
  EXPECT_DOUBLE_EQ(band_error_pct(one, accuracy::Metric::kTpot).value_or(0.0), 5.0);
  EXPECT_FALSE(band_error_pct(one, accuracy::Metric::kTtft));
  const auto without = [&](auto change) {
    ScoredRecord other = one;
    change(other);
    return band_error_pct(other, accuracy::Metric::kTpot);
  };
  EXPECT_FALSE(without([](auto& r) { r.evidence.fleet.emplace(); }));
  EXPECT_FALSE(without([](auto& r) { r.evidence.old_engine = true; }));
  EXPECT_FALSE(without([](auto& r) { r.evidence.guessed_load = true; }));
  EXPECT_FALSE(without([](auto& r) { r.evidence.flags = {"do_not_score: in doubt"}; }));
  EXPECT_FALSE(without([](auto& r) { r.prediction->bound = true; }));
  EXPECT_FALSE(without([](auto& r) { r.standing = Standing::kSaturated; }));
  // Tokens keep their time where the queue grows; first tokens do not.
  EXPECT_TRUE(without([](auto& r) { r.prediction->overloaded = true; }));
  one.evidence.measured.at(Figure::kTtft, Level::kP50) = 100.0;
  one.prediction->figures.at(Figure::kTtft, Level::kP50) = 90.0;
  EXPECT_DOUBLE_EQ(band_error_pct(one, accuracy::Metric::kTtft).value_or(0.0), -10.0);
  one.prediction->overloaded = true;
  EXPECT_FALSE(band_error_pct(one, accuracy::Metric::kTtft));
}

TEST(Coverage, SaysWhyThereIsNone) {
  const Coverage none = coverage(std::vector<ScoredRecord>{});
  EXPECT_TRUE(none.rows.empty());
  EXPECT_EQ(none.none, "no record tells of a band's error");
}

TEST(Coverage, CountsWhatLiesWithinTheBandsOfItsDeployment) {
  accuracy::Band band;
  band.slice = "all";
  band.groups = 20;
  band.p50 = {.low = -1.0, .high = 1.0};
  band.p90 = {.low = -10.0, .high = 10.0};
  const accuracy::Bands bands = {.fitted = {}, .bands = {band}};
  const std::vector<ScoredRecord> records = {
      scored_record(0, 0.5), scored_record(1, 5.0), scored_record(2, 50.0)};
  const Coverage found =
      coverage(error_points(records),
               [&](const accuracy::Question&) -> const accuracy::Bands& { return bands; });
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_EQ(found.rows.front().slice, "every slice");
  EXPECT_EQ(found.rows.front().groups, 3);
  EXPECT_NEAR(found.rows.front().inside_p90_pct, 200.0 / 3.0, 1e-9);
  EXPECT_NEAR(found.rows.front().inside_p50_pct, 100.0 / 3.0, 1e-9);
}

}  // namespace
}  // namespace ridgeline::evidence::validate

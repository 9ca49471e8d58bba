#include "plan/doubt.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/distributions.hpp"
#include "plan/linear_doubt.hpp"

namespace ridgeline::plan {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

Row row(double capacity, std::int64_t replicas, double cost, std::vector<double> elasticity) {
  return {.capacity_rps = capacity,
          .replicas = replicas,
          .max_replicas = 100,
          .cost_per_replica = cost,
          .elasticity = std::move(elasticity)};
}

std::optional<std::int64_t> replicas_for(const Row& row, const DoubtInput& input) {
  return fewest_replicas(row,
                         log_capacity(row, input.factors),
                         std::log(input.rate),
                         core::normal_quantile(input.confidence));
}

/// Three standard errors of a share of kDoubtDraws draws.
double three_errors(double p) {
  return 3.0 * std::sqrt(p * (1.0 - p) / static_cast<double>(kDoubtDraws));
}

TEST(Doubt, TwoRowsAndOneFactorMeetTheNormalTails) {
  // At rate 10, one replica of the first serves while theta >= -log(1.1), and else costs as much as
  // two: 6. The second never fails and costs 4.
  const double sd = 0.1;
  const DoubtInput input = {.rate = 10.0,
                            .factors = {{.name = "GEMM", .sd = sd}},
                            .rows = {row(11.0, 1, 3.0, {1.0}), row(20.0, 1, 4.0, {0.0})},
                            .confidence = 0.9};
  const double fails = normal_probability(-std::log(1.1) / sd);
  const Doubt doubt = assess(input);
  EXPECT_THAT(doubt.p_feasible, ElementsAre(DoubleNear(1.0 - fails, 1e-7), 1.0));
  EXPECT_NEAR(doubt.p_best[0], 1.0 - fails, three_errors(fails));
  EXPECT_NEAR(doubt.p_best[1], fails, three_errors(fails));
  // The first: 6 instead of 4 where it fails. The second: 4 instead of 3 where it does not.
  EXPECT_NEAR(doubt.expected_regret[0], 2.0 * fails, 2.0 * three_errors(fails));
  EXPECT_NEAR(doubt.expected_regret[1], 1.0 - fails, three_errors(fails));
  EXPECT_NEAR(doubt.expected_best_cost, 3.0 + fails, three_errors(fails));
}

TEST(Doubt, ThePickIsTheCheapestThatIsSureEnough) {
  DoubtInput input = {.rate = 10.0,
                      .factors = {{.name = "GEMM", .sd = 0.1}},
                      .rows = {row(11.0, 1, 3.0, {1.0}), row(20.0, 1, 4.0, {1.0})},
                      .confidence = 0.9};
  EXPECT_EQ(assess(input).pick, 1U);  // The first suffices with 83 %.
  input.confidence = 0.8;
  EXPECT_EQ(assess(input).pick, 0U);
  input.rows = {row(9.0, 1, 3.0, {1.0})};
  EXPECT_EQ(assess(input).pick, std::nullopt);
}

TEST(Doubt, ACommonErrorDoesNotChangeWhichIsBest) {
  const std::vector<double> shared = {-2.0};
  const DoubtInput input = {.rate = 10.0,
                            .factors = {{.name = "GEMM, h100", .sd = 0.2}},
                            .rows = {row(1.0, 10, 1.0, shared), row(1.0, 10, 1.1, shared)},
                            .confidence = 0.5};
  EXPECT_THAT(assess(input).p_best, ElementsAre(1.0, 0.0));
}

TEST(Doubt, RowsOfOneCostAreBothBest) {
  const DoubtInput input = {
      .rate = 10.0, .rows = {row(11.0, 1, 3.0, {}), row(5.0, 2, 1.5, {})}, .confidence = 0.9};
  EXPECT_THAT(assess(input).p_best, ElementsAre(1.0, 1.0));
}

TEST(Doubt, WithoutDoubtTheAnswerIsCertain) {
  const DoubtInput input = {
      .rate = 30.0, .rows = {row(10.0, 3, 1.0, {}), row(9.0, 3, 0.5, {})}, .confidence = 0.99};
  const Doubt doubt = assess(input);
  EXPECT_THAT(doubt.p_feasible, ElementsAre(1.0, 0.0));
  EXPECT_THAT(doubt.p_best, ElementsAre(0.0, 1.0));  // Four of the second cost less.
  EXPECT_THAT(doubt.expected_regret, ElementsAre(DoubleNear(1.0, 1e-9), DoubleNear(0.0, 1e-9)));
  EXPECT_EQ(doubt.pick, 0U);
}

TEST(Doubt, ARowThatMayNotGrowLosesToOneThatServes) {
  DoubtInput input = {
      .rate = 10.0, .rows = {row(1.0, 2, 0.1, {}), row(10.0, 1, 5.0, {})}, .confidence = 0.9};
  input.rows[0].max_replicas = 2;
  EXPECT_THAT(assess(input).p_best, ElementsAre(0.0, 1.0));
}

TEST(Doubt, ReplicasForAreTheFewestThatAreSureEnough) {
  DoubtInput input = {.rate = 10.0,
                      .factors = {{.name = "GEMM", .sd = 0.1}},
                      .rows = {row(5.05, 1, 1.0, {1.0})},
                      .confidence = 0.5};
  EXPECT_EQ(replicas_for(input.rows[0], input), 2);
  input.confidence = 0.9;
  EXPECT_EQ(replicas_for(input.rows[0], input), 3);
  input.rows[0].replicas = 3;
  EXPECT_GE(assess(input).p_feasible[0], 0.9);
  input.rows[0].max_replicas = 2;
  EXPECT_EQ(replicas_for(input.rows[0], input), std::nullopt);
  input.confidence = 0.5;
  input.rows[0].min_replicas = 2;
  input.rate = 1.0;
  EXPECT_EQ(replicas_for(input.rows[0], input), 2);
}

TEST(Doubt, TheSameSeedGivesTheSameNumbers) {
  const DoubtInput input = {.rate = 10.0,
                            .factors = {{.name = "GEMM", .sd = 0.1}},
                            .rows = {row(11.0, 1, 3.0, {1.0}), row(20.0, 1, 4.0, {0.3})},
                            .seed = 7};
  DoubtInput longer = input;
  longer.rows.push_back(row(1.0, 1, 100.0, {1.0}));
  EXPECT_EQ(assess(input).expected_regret, assess(input).expected_regret);
  // A further row that is never best changes no draw of the others.
  EXPECT_EQ(assess(input).expected_regret[0], assess(longer).expected_regret[0]);
}

}  // namespace
}  // namespace ridgeline::plan

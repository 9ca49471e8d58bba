#include "latency/measured/isotonic.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::latency::measured {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;

constexpr double kHoleHere = std::numeric_limits<double>::quiet_NaN();

TEST(Isotonic, PoolsWhatFalls) {
  // 3 and 1 pool to 2; 6, 5 and 4 to 5.
  EXPECT_THAT(isotonic(std::array{3.0, 1.0, 6.0, 5.0, 4.0, 9.0}),
              ElementsAre(2.0, 2.0, 5.0, 5.0, 5.0, 9.0));
  // A pooled block that falls below the one before joins it: (1 + 5 + 0) / 3 = 2.
  EXPECT_THAT(isotonic(std::array{1.0, 5.0, 0.0}), ElementsAre(1.0, 2.5, 2.5));
  EXPECT_THAT(isotonic(std::array{4.0, 5.0, 0.0}), ElementsAre(3.0, 3.0, 3.0));
  EXPECT_TRUE(isotonic(std::vector<double>{}).empty());
}

TEST(Isotonic, WeighsItsBlocks) {
  // (3 * 3 + 1 * 1) / 4.
  EXPECT_THAT(isotonic(std::array{3.0, 1.0}, std::array{3.0, 1.0}), ElementsAre(2.5, 2.5));
}

TEST(MonotoneGrid, IsLinearBetweenTicksAndFlatOutside) {
  const MonotoneGrid grid({{0.0, 10.0}, {0.0, 1.0, 3.0}}, {1, 2, 4, 11, 12, 14});
  const auto at = [&](double x, double y) { return grid.at(std::array{x, y}); };
  EXPECT_DOUBLE_EQ(at(0, 2), 3.0);
  EXPECT_DOUBLE_EQ(at(5, 2), 8.0);
  EXPECT_DOUBLE_EQ(at(10, 3), 14.0);
  EXPECT_DOUBLE_EQ(at(-1, 99), 4.0);
  EXPECT_DOUBLE_EQ(at(99, -1), 11.0);
}

TEST(MonotoneGrid, FillsHolesBetweenNeighboursFirst) {
  MonotoneGrid grid({{1.0, 2.0, 4.0}, {1.0, 2.0}}, {10, 20, kHoleHere, kHoleHere, 40, kHoleHere});
  EXPECT_DOUBLE_EQ(grid.without(2, 0), 20.0);
  EXPECT_TRUE(std::isnan(grid.without(0, 0)));
  EXPECT_TRUE(std::isnan(grid.without(3, 0)));
  grid.fill(0.0);
  // (2, 1): a third of the way from 10 to 40. (2, 2) and (4, 2) have no pair of neighbours: they
  // grow in proportion from (2, 1), filled in the round before, and from (4, 1).
  EXPECT_THAT(grid.values(), ElementsAre(10, 20, 20, DoubleEq(40), 40, 80));
}

TEST(MonotoneGrid, WhatIsFixedDoesNotGrow) {
  MonotoneGrid grid({{0.0, 5.0, 10.0}}, {kHoleHere, 8.0, kHoleHere});
  grid.fill(3.0);
  EXPECT_THAT(grid.values(), ElementsAre(3.0, 8.0, 13.0));
}

TEST(MonotoneGrid, LeavesWhatRisesAlone) {
  MonotoneGrid grid({{1.0, 2.0}, {1.0, 2.0}}, {1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(grid.make_monotone().ratio, 1.0);
  EXPECT_THAT(grid.values(), ElementsAre(1, 2, 3, 4));
}

TEST(MonotoneGrid, MovesFallingValuesToTheirGeometricMean) {
  MonotoneGrid grid({{1.0, 2.0, 3.0}}, {8.0, 2.0, 16.0});
  const auto change = grid.make_monotone();
  EXPECT_THAT(grid.values(), ElementsAre(DoubleNear(4, 1e-9), DoubleNear(4, 1e-9), 16.0));
  // 8 to 4 is a ratio of 0.5, 2 to 4 one of 2: the latter is farther from 1.
  EXPECT_NEAR(change.ratio, 2.0, 1e-9);
  EXPECT_EQ(change.cell, 1U);
}

TEST(MonotoneGrid, EveryAxisRisesAfterwards) {
  MonotoneGrid grid({{1.0, 2.0}, {1.0, 2.0, 3.0}, {1.0, 2.0}},
                    {9, 1, 8, 2, 7, 3, 6, 4, 5, 5, 4, 6});
  grid.make_monotone();
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 2; ++k) {
        const auto cell = [&](std::size_t a, std::size_t b, std::size_t c) {
          return grid.values()[(a * 3 + b) * 2 + c];
        };
        if (i > 0) {
          EXPECT_GE(cell(i, j, k), cell(i - 1, j, k));
        }
        if (j > 0) {
          EXPECT_GE(cell(i, j, k), cell(i, j - 1, k));
        }
        if (k > 0) {
          EXPECT_GE(cell(i, j, k), cell(i, j, k - 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::latency::measured

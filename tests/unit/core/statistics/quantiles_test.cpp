#include "core/statistics/quantiles.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::statistics {
namespace {

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

TEST(Quantiles, PositionIsNumpysLinear) {
  // (n - 1) p: 3 * 0.5 = 1.5, 10 * 0.9 = 9, 4 * 0.25 = 1.
  EXPECT_EQ(quantile_position(4, 0.5).index, 1);
  EXPECT_EQ(quantile_position(4, 0.5).fraction, 0.5);
  EXPECT_EQ(quantile_position(11, 0.9).index, 9);
  EXPECT_EQ(quantile_position(11, 0.9).fraction, 0.0);
  EXPECT_EQ(quantile_position(5, 0.25).index, 1);
  EXPECT_EQ(quantile_position(5, 0.0).index, 0);
  EXPECT_EQ(quantile_position(5, 1.0).index, 4);
  EXPECT_EQ(quantile_position(1, 0.7).index, 0);
  EXPECT_EQ(quantile_position(1, 0.7).fraction, 0.0);
}

TEST(Quantiles, OfAVector) {
  // Sorted: 1 2 3 4 10. p = 0.1 stands at 0.4: 1.4; p = 0.9 at 3.6: 4 + 0.6 * 6.
  std::vector<std::int64_t> values = {10, 3, 1, 4, 2};
  const std::array probabilities = {0.9, 0.5, 0.1, 1.0, 0.0, 0.5};
  const auto found = quantiles(values, probabilities);
  ASSERT_EQ(found.size(), probabilities.size());
  EXPECT_DOUBLE_EQ(found[0], 7.6);
  EXPECT_DOUBLE_EQ(found[1], 3.0);
  EXPECT_DOUBLE_EQ(found[2], 1.4);
  EXPECT_DOUBLE_EQ(found[3], 10.0);
  EXPECT_DOUBLE_EQ(found[4], 1.0);
  EXPECT_DOUBLE_EQ(found[5], 3.0);
}

TEST(Quantiles, DoNotOverflow) {
  std::vector<std::int64_t> values = {kMax, kMin};
  EXPECT_EQ(quantile(values, 0.5), 0.0);  // -2^63 + 2^64 / 2
  EXPECT_EQ(quantile(values, 0.25), -0x1p62);
}

TEST(QuantilesDeathTest, NothingHasNoQuantile) {
  std::vector<std::int64_t> none;
  EXPECT_DEATH(static_cast<void>(quantile(none, 0.5)), "a quantile of nothing");
  std::vector<std::int64_t> one = {1};
  EXPECT_DEATH(static_cast<void>(quantile(one, 1.01)), "probability of a quantile");
  EXPECT_DEATH(static_cast<void>(quantile(one, std::nan(""))), "probability of a quantile");
}

}  // namespace
}  // namespace ridgeline::statistics

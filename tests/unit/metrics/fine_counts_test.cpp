#include "metrics/fine_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "metrics/order_search.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

constexpr std::int64_t kTicksPerMs = 1'000'000'000;

TEST(FineCounts, QuantilesHoldTheExactPercentiles) {
  FineCounts counts;
  std::vector<std::int64_t> ticks;
  for (std::int64_t i = 13; i <= 1012; ++i) {
    ticks.push_back(i * kTicksPerMs);
  }
  counts.add(ticks);
  Distribution exact;
  exact.values = {0.0, 0.0, 512.5, 912.1, 962.05, 1002.01, 1012.0};
  const auto probabilities = series_probabilities();
  const auto values = counts.quantiles_ms(exact);
  ASSERT_EQ(values.size(), probabilities.size());
  EXPECT_TRUE(std::ranges::is_sorted(probabilities));
  EXPECT_TRUE(std::ranges::is_sorted(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = probabilities[i];
    if (p == 0.5 || p == 0.99 || p == 1.0) {
      EXPECT_EQ(values[i], p == 0.5 ? 512.5 : p == 0.99 ? 1002.01 : 1012.0);
    }
    // 13 ms to 1012 ms, evenly; a bin is up to 0.8 % of its value wide.
    EXPECT_NEAR(values[i], 13.0 + p * 999.0, 1.0 + 0.008 * values[i]) << p;
  }
}

TEST(FineCounts, ARunIsItsTimesOneByOne) {
  Distribution exact;
  exact.values = {0.0, 0.0, 8.0, 12.0, 13.0, 14.0, 15.0};
  for (const std::int64_t growth :
       {std::int64_t{0}, std::int64_t{1}, kTicksPerMs / 7, kTicksPerMs}) {
    for (const std::int64_t count : {1, 2, 9, 400}) {
      const std::vector<std::int64_t> first = {3 * kTicksPerMs};
      const std::vector<std::int64_t> growths = {growth};
      const std::vector<std::int64_t> lengths = {count};
      const std::vector<std::int64_t> repeat = {3};
      FineCounts run;
      run.add(RunBlock{.first = first, .growth = growths, .count = lengths, .repeat = repeat});
      FineCounts single;
      for (std::int64_t i = 0; i < 3 * count; ++i) {
        const std::vector<std::int64_t> one = {first[0] + growth * (i / 3)};
        single.add(one);
      }
      EXPECT_EQ(run.quantiles_ms(exact), single.quantiles_ms(exact)) << growth << " x " << count;
    }
  }
}

}  // namespace
}  // namespace ridgeline::metrics

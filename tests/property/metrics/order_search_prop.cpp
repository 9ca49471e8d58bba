#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/rng.hpp"
#include "core/statistics/moments.hpp"
#include "core/statistics/quantiles.hpp"
#include "unit/metrics/searched_quantiles.hpp"

namespace ridgeline::metrics {
namespace {

using statistics::ArithmeticRun;

/// By sorting: the reference that the search is held against.
std::vector<double> sorted_quantiles(std::vector<std::int64_t> values,
                                     const std::vector<double>& probabilities) {
  std::sort(values.begin(), values.end());
  std::vector<double> results;
  for (const double p : probabilities) {
    const auto at = statistics::quantile_position(static_cast<std::int64_t>(values.size()), p);
    const auto index = static_cast<std::size_t>(at.index);
    const std::int64_t next = at.fraction > 0.0 ? values[index + 1] : values[index];
    results.push_back(statistics::interpolate(values[index], next, at.fraction));
  }
  return results;
}

std::vector<double> probabilities() {
  std::vector<double> all = {0.5, 0.9, 0.95, 0.99};
  for (const int permille : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001))) {
    all.push_back(permille / 1000.0);
  }
  return all;
}

void expect_same(const std::vector<ArithmeticRun>& runs) {
  const std::vector<std::int64_t> values = testing::expanded(runs);
  const std::vector<double> wanted = probabilities();
  const std::vector<double> expected = sorted_quantiles(values, wanted);
  RC_ASSERT(testing::searched_quantiles(runs, wanted) == expected);
  RC_ASSERT(testing::searched_quantiles(values, wanted) == expected);
}

// Few values: no sample is taken. Many of them are equal.
RC_GTEST_PROP(OrderSearch, EqualsSortingWhenFew, ()) {
  expect_same(*rc::gen::nonEmpty(
      rc::gen::container<std::vector<ArithmeticRun>>(rc::gen::build<ArithmeticRun>(
          rc::gen::set(&ArithmeticRun::first, rc::gen::inRange<std::int64_t>(0, 80)),
          rc::gen::set(&ArithmeticRun::growth, rc::gen::inRange<std::int64_t>(0, 5)),
          rc::gen::set(&ArithmeticRun::count, rc::gen::inRange<std::int64_t>(1, 12)),
          rc::gen::set(&ArithmeticRun::repeat, rc::gen::inRange<std::int64_t>(1, 5))))));
}

// Many values, of any shape (how wide, how steep, how long, how often), from values that all are
// neighbours to values all over the range, in random order or ascending through the stream.
RC_GTEST_PROP(OrderSearch, EqualsSortingWhenMany, ()) {
  core::RngStream rng(*rc::gen::arbitrary<std::uint64_t>(), 0, "many runs");
  const auto width = *rc::gen::inRange(0, 62);
  const auto steepness = *rc::gen::inRange(0, 58);
  const auto length = *rc::gen::inRange(0, 6);
  const auto copies = *rc::gen::inRange(0, 7);
  const auto outliers = *rc::gen::inRange(0, 3);
  const auto within = [&](int bits) {
    return static_cast<std::int64_t>(rng.below(std::uint64_t{1} << static_cast<unsigned>(bits)));
  };
  std::vector<ArithmeticRun> runs;
  for (int i = 0; i < 600; ++i) {
    // Keeps within the range: first < 2^61, growth * 31 < 2^62.
    runs.push_back({.first = within(std::min(width, 61)),
                    .growth = within(std::min(steepness, 57)),
                    .count = 1 + within(std::min(length, 5)),
                    .repeat = 1 + within(copies)});
  }
  for (int i = 0; i < outliers; ++i) {
    runs.push_back({.first = std::numeric_limits<std::int64_t>::max() - i});
    runs.push_back({.first = i, .growth = 0, .count = 1, .repeat = 500});
  }
  if (*rc::gen::arbitrary<bool>()) {
    std::ranges::sort(runs, {}, &ArithmeticRun::first);
  }
  expect_same(runs);
}

}  // namespace
}  // namespace ridgeline::metrics

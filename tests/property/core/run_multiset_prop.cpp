#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/int128.hpp"
#include "core/moments.hpp"
#include "core/quantiles.hpp"
#include "core/rng.hpp"
#include "core/run_columns.hpp"
#include "core/run_multiset.hpp"

namespace ridgeline::core {
namespace {

std::vector<std::int64_t> expand(const ArithmeticRun& run) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < run.count; ++i) {
    values.insert(values.end(), static_cast<std::size_t>(run.repeat), run.first + run.growth * i);
  }
  return values;
}

/// Runs that overlap, repeat and continue each other often.
rc::Gen<ArithmeticRun> near_runs() {
  return rc::gen::build<ArithmeticRun>(
      rc::gen::set(&ArithmeticRun::first, rc::gen::inRange<std::int64_t>(-40, 40)),
      rc::gen::set(&ArithmeticRun::growth, rc::gen::inRange<std::int64_t>(-4, 5)),
      rc::gen::set(&ArithmeticRun::count, rc::gen::inRange<std::int64_t>(0, 12)),
      rc::gen::set(&ArithmeticRun::repeat, rc::gen::inRange<std::int64_t>(0, 5)));
}

/// Runs all over the range, some of them far from the rest.
rc::Gen<ArithmeticRun> far_runs() {
  constexpr std::int64_t kFar = 1'000'000'000'000'000'000;
  return rc::gen::build<ArithmeticRun>(
      rc::gen::set(&ArithmeticRun::first,
                   rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-kFar, kFar),
                                  rc::gen::inRange<std::int64_t>(0, 1000))),
      rc::gen::set(&ArithmeticRun::growth,
                   rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-kFar / 10, kFar / 10),
                                  rc::gen::inRange<std::int64_t>(-10, 10))),
      rc::gen::set(&ArithmeticRun::count, rc::gen::inRange<std::int64_t>(1, 12)),
      rc::gen::set(&ArithmeticRun::repeat, rc::gen::inRange<std::int64_t>(1, 5)));
}

/// One by one, or as blocks of up to so many.
void add_all(const std::vector<ArithmeticRun>& runs, std::size_t together, RunMultiset& multiset) {
  RunColumns block;
  for (const ArithmeticRun& run : runs) {
    if (together == 0) {
      multiset.add(run.first, run.growth, run.count, run.repeat);
      continue;
    }
    block.add(run.first, run.growth, run.count, run.repeat);
    if (block.size == together) {
      multiset.add_and_spoil(block);
      block.size = 0;
    }
  }
  multiset.add_and_spoil(block);
}

void expect_same(const std::vector<ArithmeticRun>& runs) {
  RunMultiset multiset;
  std::vector<std::int64_t> values;
  add_all(runs, *rc::gen::inRange<std::size_t>(0, RunColumns::kMost + 1), multiset);
  for (const ArithmeticRun& run : runs) {
    const auto more = expand(run);
    values.insert(values.end(), more.begin(), more.end());
  }
  RC_ASSERT(multiset.count() == static_cast<std::int64_t>(values.size()));
  RC_ASSERT(multiset.num_runs() <= runs.size());
  if (values.empty()) {
    return;
  }
  std::sort(values.begin(), values.end());
  Int128 sum = 0;
  Uint128 squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    RC_ASSERT(multiset.order_statistic(static_cast<std::int64_t>(i)) == values[i]);
    sum += values[i];
    squares += static_cast<Uint128>(values[i]) * static_cast<Uint128>(values[i]);
  }
  const Moments& moments = multiset.moments();
  RC_ASSERT(moments.min() == values.front());
  RC_ASSERT(moments.max() == values.back());
  RC_ASSERT(moments.sum() == sum);
  RC_ASSERT(moments.sum_of_squares() == squares);
  const std::vector<double> probabilities = {0.5, 0.9, 0.0, 0.99, 1.0, 0.123};
  RC_ASSERT(multiset.quantiles(probabilities) == quantiles(values, probabilities));
}

RC_GTEST_PROP(RunMultiset, EqualsTheExpandedValues, ()) {
  expect_same(*rc::gen::container<std::vector<ArithmeticRun>>(near_runs()));
}

RC_GTEST_PROP(RunMultiset, EqualsTheExpandedValuesFarApart, ()) {
  expect_same(*rc::gen::container<std::vector<ArithmeticRun>>(far_runs()));
}

// Too many values to sort at once: with the shape (how wide, how steep, how often) at random, from
// values that all are neighbours to values all over the range.
RC_GTEST_PROP(RunMultiset, EqualsTheExpandedValuesWhenMany, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto width = *rc::gen::inRange(1, 63);
  const auto steepness = *rc::gen::inRange(1, 58);
  const auto outliers = *rc::gen::inRange(0, 3);
  RngStream rng(seed, 0, "many runs");
  const auto together = *rc::gen::inRange<std::size_t>(0, RunColumns::kMost + 1);
  std::vector<ArithmeticRun> runs;
  std::vector<std::int64_t> values;
  const auto add = [&](const ArithmeticRun& run) {
    runs.push_back(run);
    const auto more = expand(run);
    values.insert(values.end(), more.begin(), more.end());
  };
  const auto within = [&](int bits) {
    return static_cast<std::int64_t>(rng.below(std::uint64_t{1} << bits));
  };
  for (int i = 0; i < 400; ++i) {
    const std::int64_t count = 1 + within(4);
    // Keeps within the range: |first| < 2^61, |growth| * 15 < 2^62.
    const std::int64_t growth = within(steepness) - within(steepness);
    add({.first = within(std::min(width, 61)) - within(std::min(width, 61)),
         .growth = growth,
         .count = count,
         .repeat = 1 + within(3)});
  }
  for (int i = 0; i < outliers; ++i) {
    add({.first = std::numeric_limits<std::int64_t>::max() - i});
    add({.first = std::numeric_limits<std::int64_t>::min() + i, .repeat = 500});
  }
  RunMultiset multiset;
  add_all(runs, together, multiset);
  std::sort(values.begin(), values.end());
  for (int i = 0; i < 5; ++i) {
    const std::size_t index = rng.below(values.size());
    RC_ASSERT(multiset.order_statistic(static_cast<std::int64_t>(index)) == values[index]);
  }
  std::vector<double> probabilities = {0.0, 1.0, 0.5};
  for (int i = 0; i < 20; ++i) {
    probabilities.push_back(rng.uniform());
  }
  RC_ASSERT(multiset.quantiles(probabilities) == quantiles(values, probabilities));
}

RC_GTEST_PROP(RunMultiset, DoesNotDependOnOrderOrCuts, ()) {
  const auto runs = *rc::gen::container<std::vector<ArithmeticRun>>(near_runs());
  RunMultiset whole;
  std::vector<std::int64_t> values;
  for (const ArithmeticRun& run : runs) {
    whole.add(run.first, run.growth, run.count, run.repeat);
    const auto more = expand(run);
    values.insert(values.end(), more.begin(), more.end());
  }
  // The same values one by one, shuffled by pairs of places.
  for (const auto& [a, b] : *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(
           rc::gen::pair(rc::gen::arbitrary<std::size_t>(), rc::gen::arbitrary<std::size_t>()))) {
    if (!values.empty()) {
      std::swap(values[a % values.size()], values[b % values.size()]);
    }
  }
  RunMultiset single;
  for (const std::int64_t value : values) {
    single.add(value);
  }
  RC_ASSERT(single.fingerprint() == whole.fingerprint());
  if (!values.empty()) {
    RC_ASSERT(single.quantile(0.5) == whole.quantile(0.5));
    RC_ASSERT(single.moments().std_dev() == whole.moments().std_dev());
    const auto changed = *rc::gen::inRange<std::size_t>(0, values.size());
    single.add(values[changed] + 1);
    whole.add(values[changed]);
    RC_ASSERT(!(single.fingerprint() == whole.fingerprint()));
  }
}

RC_GTEST_PROP(Quantiles, SelectionEqualsSorting, ()) {
  auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-5, 5),
                     rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000))));
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> probabilities;
  for (const int permille : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001))) {
    probabilities.push_back(permille / 1000.0);
  }
  const auto found = quantiles(values, probabilities);
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double position = static_cast<double>(sorted.size() - 1) * probabilities[i];
    const auto below = static_cast<std::size_t>(std::floor(position));
    const auto above = static_cast<std::size_t>(std::ceil(position));
    const double expected =
        static_cast<double>(sorted[below]) +
        static_cast<double>(sorted[above] - sorted[below]) * (position - std::floor(position));
    RC_ASSERT(found[i] == expected);
  }
}

}  // namespace
}  // namespace ridgeline::core

#include "core/statistics/quantile_sketch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/statistics/quantiles.hpp"

namespace ridgeline::statistics {
namespace {

TEST(QuantileSketch, SmallValuesAreExact) {
  QuantileSketch sketch;
  sketch.add({.first = 0, .growth = 1, .count = 1024, .repeat = 2});
  // 2048 values, each of 0 .. 1023 twice: p = 0.5 stands at 1023.5, between 511 and 512.
  EXPECT_DOUBLE_EQ(sketch.quantile(0.5), 511.5);
  EXPECT_EQ(sketch.quantile(0.0), 0.0);
  EXPECT_EQ(sketch.quantile(1.0), 1023.0);
}

TEST(QuantileSketch, ErrorIsBounded) {
  for (std::int64_t value = 1; value < std::numeric_limits<std::int64_t>::max() / 5;
       value = value * 5 / 4 + 1) {
    QuantileSketch sketch;
    // Neighbours far below and above keep the exact minimum and maximum out of the answer.
    sketch.add(0);
    sketch.add(value, 3);
    sketch.add(std::numeric_limits<std::int64_t>::max());
    const auto truth = static_cast<double>(value);
    EXPECT_LE(std::abs(sketch.quantile(0.5) - truth), truth * QuantileSketch::kRelativeError)
        << value;
  }
}

TEST(QuantileSketch, MemoryIsBounded) {
  QuantileSketch sketch;
  sketch.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(sketch.num_buckets(), QuantileSketch::kMostBuckets);
  sketch.add(0);
  EXPECT_EQ(sketch.num_buckets(), QuantileSketch::kMostBuckets);
}

TEST(QuantileSketch, RunsEqualTheirValues) {
  QuantileSketch by_run;
  by_run.add({.first = 1'000'000, .growth = -997, .count = 1000, .repeat = 3});
  by_run.add({.first = 5, .growth = 1'000'000'007, .count = 2000, .repeat = 1});
  QuantileSketch one_by_one;
  for (std::int64_t i = 0; i < 1000; ++i) {
    one_by_one.add(1'000'000 - 997 * i, 3);
  }
  for (std::int64_t i = 0; i < 2000; ++i) {
    one_by_one.add(5 + 1'000'000'007 * i);
  }
  EXPECT_EQ(by_run.fingerprint(), one_by_one.fingerprint());
  for (int percent = 0; percent <= 100; ++percent) {
    EXPECT_EQ(by_run.quantile(percent / 100.0), one_by_one.quantile(percent / 100.0)) << percent;
  }
}

TEST(QuantileSketch, MergeIsAddition) {
  QuantileSketch low;
  low.add({.first = 100, .growth = 1, .count = 500});
  QuantileSketch high;
  high.add({.first = 1'000'000, .growth = 10'000, .count = 500});
  QuantileSketch both = low;
  both.merge(high);
  QuantileSketch reversed = high;
  reversed.merge(low);
  EXPECT_EQ(both.count(), 1000);
  EXPECT_EQ(both.fingerprint(), reversed.fingerprint());
  EXPECT_EQ(both.quantile(0.25),
            low.quantile(0.5) + 0.25);  // Position 249.75 of 1000 against 249.5 of 500.
  EXPECT_EQ(both.quantile(0.9), reversed.quantile(0.9));
  EXPECT_EQ(both.quantile(1.0), 1'000'000.0 + 499 * 10'000.0);
}

TEST(QuantileSketchDeathTest, BadInputIsABug) {
  QuantileSketch sketch;
  EXPECT_DEATH(static_cast<void>(sketch.quantile(0.5)), "a quantile of nothing");
  EXPECT_DEATH(sketch.add(-1), "negative value");
  EXPECT_DEATH(sketch.add({.first = 10, .growth = -6, .count = 3}), "negative value");
}

}  // namespace
}  // namespace ridgeline::statistics

#include "latency/measured/surfaces.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/measured_kernels.hpp"

namespace ridgeline::latency::measured {
namespace {

double one(const GemmPoint& /*point*/) {
  return 1.0;
}

/// 2 us and 1 us for each 1000 weights, at every m.
MeasuredGemm streaming() {
  MeasuredGemm measured;
  for (const std::int64_t m : {8, 16}) {
    for (const std::int64_t k : {100, 200}) {
      for (const std::int64_t n : {50, 150}) {
        measured.points.push_back(
            {.m = m, .k = k, .n = n, .us = 2.0 + static_cast<double>(k * n) / 1000.0});
      }
    }
  }
  return measured;
}

TEST(GemmSurface, StreamingIsExactBetweenAndBeyondTheMeasuredShapes) {
  const GemmSurface surface(streaming(), 2.0, one);
  const auto expected = [](std::int64_t k, std::int64_t n) {
    return 2.0 + static_cast<double>(k * n) / 1000.0;
  };
  EXPECT_NEAR(surface.us(8, 150, 100), expected(150, 100), 1e-9);
  EXPECT_NEAR(surface.us(12, 400, 600), expected(400, 600), 1e-6);
  EXPECT_NEAR(surface.us(1, 25, 10), expected(25, 10), 1e-9);
  EXPECT_EQ(surface.smallest_m(), 8);
  EXPECT_EQ(surface.largest_m(), 16);
  EXPECT_DOUBLE_EQ(surface.change().ratio, 1.0);
}

TEST(GemmSurface, BeyondTheLastRowsTimeGrowsInProportion) {
  MeasuredGemm measured;
  measured.points = {{.m = 100, .k = 10, .n = 10, .us = 5.0},
                     {.m = 200, .k = 10, .n = 10, .us = 8.0}};
  const GemmSurface surface(measured, 1.0, one);
  // 7 us above the fixed one at 200 rows: 14 at 400.
  EXPECT_NEAR(surface.us(400, 10, 10), 15.0, 1e-6);
  EXPECT_NEAR(surface.us(1, 10, 10), 5.0, 1e-9);
  const GemmSurface doubled(measured, 1.0, [](const auto&) { return 2.0; });
  EXPECT_NEAR(doubled.us(150, 10, 10), 13.0, 1e-9);
}

TEST(GemmSurface, SaysWhatItSmoothed) {
  MeasuredGemm measured;
  measured.points = {{.m = 1, .k = 10, .n = 10, .us = 9.0}, {.m = 2, .k = 10, .n = 10, .us = 4.0}};
  const GemmSurface surface(measured, 1.0, one);
  // Both become sqrt(36) = 6.
  EXPECT_NEAR(surface.us(1, 10, 10), 6.0, 1e-6);
  EXPECT_NEAR(surface.change().ratio, 1.5, 1e-6);
  EXPECT_EQ(surface.change().where, "m 2, k 10, n 10");
}

TEST(LeaveOneOut, IsTheErrorOfTheNeighboursLine) {
  MeasuredGemm measured;
  measured.points = {{.m = 1, .k = 9, .n = 9, .us = 10.0},
                     {.m = 2, .k = 9, .n = 9, .us = 16.0},
                     {.m = 3, .k = 9, .n = 9, .us = 30.0},
                     {.m = 7, .k = 8, .n = 9, .us = 1.0}};
  // Only m 2 at (9, 9) has both neighbours: 20 where 16 was measured.
  const auto out = leave_one_out(measured);
  ASSERT_EQ(out.errors.size(), 1U);
  EXPECT_DOUBLE_EQ(out.quantile(0.5), 0.25);
}

MeasuredDecode decode_points() {
  // 10 us and 1 us for each 100 tokens read.
  MeasuredDecode measured;
  for (const std::int64_t batch : {1, 4}) {
    for (const std::int64_t kv_len : {1000, 2000, 4000}) {
      measured.points.push_back({.batch_size = batch,
                                 .kv_len = kv_len,
                                 .us = 10.0 + static_cast<double>(batch * kv_len) / 100.0});
    }
  }
  return measured;
}

TEST(DecodeSurface, IsALineInTheContextSum) {
  const DecodeSurface surface(decode_points());
  const auto place = surface.place(2);
  // Two sequences of 2000 and of 4000: 10 + 40, 10 + 80.
  const auto ticks = surface.kv_ticks();
  EXPECT_EQ(ticks[2], 2000.0);
  EXPECT_NEAR(surface.us(place, 2), 50.0, 1e-9);
  EXPECT_NEAR(surface.us(place, 3), 90.0, 1e-9);
  EXPECT_NEAR(surface.us(surface.place(4), 0), 10.0, 1e-9);
  EXPECT_EQ(surface.largest_batch(), 4);
  EXPECT_EQ(surface.smallest_kv_len(), 1000);
  EXPECT_EQ(surface.largest_kv_len(), 4000);
}

TEST(DecodeSurface, RowsThatShowTheLaunchTakeTheLineOfLongerOnes) {
  MeasuredDecode measured;
  measured.points = {{.batch_size = 1, .kv_len = 1000, .us = 22.0},
                     {.batch_size = 1, .kv_len = 2000, .us = 22.5},
                     {.batch_size = 1, .kv_len = 4000, .us = 30.0},
                     {.batch_size = 1, .kv_len = 8000, .us = 50.0}};
  const auto at = [&](std::size_t tick) {
    const DecodeSurface surface(measured);
    return surface.us(surface.place(1), tick);
  };
  // As measured on the GPU itself: nothing below the first row but its own line.
  EXPECT_NEAR(at(1), 22.0, 1e-9);
  measured.host_timed = true;
  // 5 us per 1000 tokens through (4000, 30): 20, 15 and 10, the last kept at half of the fastest.
  EXPECT_NEAR(at(2), 20.0, 1e-9);
  EXPECT_NEAR(at(1), 15.0, 1e-9);
  EXPECT_NEAR(at(0), 11.0, 1e-9);
}

TEST(PrefillCurve, IsLinearInPairsAndStartUp) {
  // 5 us, and 1 us for each 100,000 pairs, 401 for each query before its first key.
  const auto us = [](double s) { return 5.0 + s * (s / 2.0 + 401.0) / 1e5; };
  const PrefillCurve curve({{.seq_len = 1000, .us = us(1000)},
                            {.seq_len = 4000, .us = us(4000)},
                            {.seq_len = 2000, .us = us(2000)}});
  for (const double s : {0.0, 10.0, 1500.0, 4000.0, 1e6}) {
    EXPECT_NEAR(curve.us(s), us(s), 1e-9 * us(s)) << s;
  }
  EXPECT_NEAR(curve.change().ratio, 1.0, 1e-12);
  EXPECT_EQ(curve.smallest(), 1000);
  EXPECT_EQ(curve.largest(), 4000);
  // A chunk costs what it adds, and no less than alone.
  EXPECT_NEAR(curve.chunk_us(3000, 1000), us(4000) - us(3000), 1e-9);
  EXPECT_NEAR(curve.chunk_us(10, 1000), us(1000), 1e-9);
  EXPECT_NEAR(curve.chunk_us(0, 2000) + curve.chunk_us(2000, 2000), curve.us(4000), 1e-9);
}

TEST(PrefillCurve, ItsSlopeNeverFalls) {
  // The last interval is faster per pair than the one before: both take their mean.
  const PrefillCurve curve({{.seq_len = 1000, .us = 20.0},
                            {.seq_len = 2000, .us = 60.0},
                            {.seq_len = 4000, .us = 100.0}});
  EXPECT_NE(curve.change().ratio, 1.0);
  double last = 0.0;
  for (double past = 0.0; past < 8000.0; past += 100.0) {
    const double us = curve.chunk_us(past, 64.0);
    EXPECT_GE(us, last);
    last = us;
  }
}

TEST(AtHeads, IsLinearBetweenHeadCounts) {
  MeasuredPrefill few;
  few.shape = {.heads = 8, .kv_heads = 8, .head_dim = 128};
  few.points = {{.seq_len = 1000, .us = 20.0}, {.seq_len = 2000, .us = 50.0}};
  MeasuredPrefill many = few;
  many.shape.heads = 16;
  many.points = {{.seq_len = 1000, .us = 40.0}, {.seq_len = 2000, .us = 110.0}};
  const auto points = at_heads({&few, &many}, 12);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NEAR(points[0].us, 30.0, 1e-9);
  EXPECT_NEAR(points[1].us, 80.0, 1e-9);
  EXPECT_NEAR(at_heads({&few, &many}, 16)[1].us, 110.0, 1e-9);
  EXPECT_GT(at_heads({&few, &many}, 32)[1].us, 200.0);
  EXPECT_LT(at_heads({&few, &many}, 2)[1].us, 50.0);
}

}  // namespace
}  // namespace ridgeline::latency::measured

#include "core/math.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::uint64_t bits(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

struct Pair {
  double x;
  double value;
};
struct Triple {
  double x;
  double y;
  double value;
};

// True values rounded to the nearest double, from Python's decimal module with 60 digits (ln, exp):
// the pinned bits. Among the inputs: the ends of the range, subnormals, the neighbours of 1, both
// sides of sqrt(2).
constexpr std::array kLogs = std::to_array<Pair>({
    {0x1.0000000000000p-1, -0x1.62e42fefa39efp-1},
    {0x1.0000000000000p+1, 0x1.62e42fefa39efp-1},
    {0x1.8000000000000p+1, 0x1.193ea7aad030bp+0},
    {0x1.4000000000000p+3, 0x1.26bb1bbb55516p+1},
    {0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1},
    {0x1.000001ad7f29bp+0, 0x1.ad7f2847b6492p-24},
    {0x1.fffffca501acbp-1, -0x1.ad7f2b1049b9fp-24},
    {0x1.8000000000000p+0, 0x1.9f323ecbf984cp-2},
    {0x1.6a09e667f3bcdp+0, 0x1.62e42fefa39f0p-2},
    {0x1.6a09e65dc27dfp-1, -0x1.62e4300c77ae8p-2},
    {0x1.56e1fc2f8f359p-997, -0x1.5963447f87fb5p+9},
    {0x0.0000000000001p-1022, -0x1.74385446d71c3p+9},
    {0x1.fffffffffffffp+1023, 0x1.62e42fefa39efp+9},
    {0x1.e240c9fbe76c9p+16, 0x1.77281cad8a844p+3},
    {0x1.0000000000000p-1022, -0x1.6232bdd7abcd2p+9},
    {0x1.0000000000001p+0, 0x1.fffffffffffffp-53},
    {0x1.fffffffffffffp-1, -0x1.0000000000000p-53},
    {0x1.5555555555555p-2, -0x1.193ea7aad030bp+0},
    {0x1.c000000000000p+2, 0x1.f2272ae325a57p+0},
    {0x1.e848000000000p+19, 0x1.ba18a998fffa0p+3},
    {0x1.fae147ae147aep-1, -0x1.495453e6fd4bcp-7},
    {0x1.028f5c28f5c29p+0, 0x1.460d6ccca367cp-7},
    {0x1.fef9db22d0e56p+0, 0x1.61ddc7dfa5223p-1},
    {0x1.0000000000000p-7, -0x1.3687a9f1af2b1p+2},
    {0x1.5bf0a8b145769p+1, 0x1.0000000000000p+0},
});

constexpr std::array kExps = std::to_array<Pair>({
    {0x1.0000000000000p+0, 0x1.5bf0a8b145769p+1},
    {-0x1.0000000000000p+0, 0x1.78b56362cef38p-2},
    {0x1.0000000000000p-1, 0x1.a61298e1e069cp+0},
    {-0x1.0000000000000p-1, 0x1.368b2fc6f960ap-1},
    {0x1.b7cdfd9d7bdbbp-34, 0x1.000000006df38p+0},
    {-0x1.b7cdfd9d7bdbbp-34, 0x1.ffffffff24190p-1},
    {0x1.4000000000000p+3, 0x1.5829dcf950560p+14},
    {-0x1.4000000000000p+3, 0x1.7cd79b5647c9bp-15},
    {0x1.61e4f765fd8aep-8, 0x1.0162da04e41a9p+0},
    {-0x1.61e4f765fd8aep-8, 0x1.fd3e1e6951bebp-1},
    {0x1.9000000000000p+6, 0x1.3494a9b171bf5p+144},
    {-0x1.9000000000000p+6, 0x1.a8c1f14e2af5dp-145},
    {0x1.5e00000000000p+9, 0x1.d945df4f8ec8ep+1009},
    {-0x1.5e00000000000p+9, 0x1.14f2b0fb9307fp-1010},
    {0x1.62e3d70a3d70ap+9, 0x1.fe9ce5c4c52b4p+1023},
    {-0x1.6240000000000p+9, 0x0.e6cf6d08897acp-1022},
    {-0x1.7200000000000p+9, 0x0.0000000000055p-1022},
    {-0x1.7490a3d70a3d7p+9, 0x0.0000000000001p-1022},
    {0x1.0000000000000p-60, 0x1.0000000000000p+0},
    {0x1.62e42fefa39efp-1, 0x1.0000000000000p+1},
    {0x1.921fb54442d18p+1, 0x1.724046eb09339p+4},
    {0x1.6800000000000p+4, 0x1.604b68cf05f66p+32},
    {-0x1.0a00000000000p+5, 0x1.057322ef4a1c2p-48},
    {0x1.0624dd2f1a9fcp-10, 0x1.0041919b7ee34p+0},
});

constexpr std::array kPows = std::to_array<Triple>({
    {0x1.0000000000000p+1, 0x1.0000000000000p-1, 0x1.6a09e667f3bcdp+0},
    {0x1.0000000000000p+1, 0x1.4000000000000p+3, 0x1.0000000000000p+10},
    {0x1.4000000000000p+3, 0x1.8000000000000p+1, 0x1.f400000000000p+9},
    {0x1.4000000000000p+3, -0x1.8000000000000p+1, 0x1.0624dd2f1a9fcp-10},
    {0x1.8000000000000p+1, 0x1.5555555555555p-2, 0x1.7137449123ef6p+0},
    {0x1.999999999999ap-4, 0x1.999999999999ap-4, 0x1.96b230bcdc434p-1},
    {0x1.000001ad7f29bp+0, 0x1.dcd6500000000p+29, 0x1.349445c228792p+144},
    {0x1.fffffca501acbp-1, 0x1.dcd6500000000p+29, 0x1.a8c1679619156p-145},
    {0x1.0000000000001p+0, 0x1.6345785d8a000p+56, 0x1.06272889f21c5p+32},
    {0x1.edd2f1a9fbe77p+6, 0x1.f8f5c28f5c28fp+2, 0x1.c37e53d5e93d2p+54},
    {0x1.56e1fc2f8f359p-997, 0x1.028f5c28f5c29p+0, 0x1.5f1ca8205119ep-1007},
    {0x1.7e43c8800759cp+996, -0x1.028f5c28f5c29p+0, 0x1.5f1ca8205119dp-1007},
    {0x0.0000000000001p-1022, 0x1.0000000000000p-1, 0x1.0000000000000p-537},
    {0x1.e000000000000p+2, -0x1.0000000000000p-2, 0x1.35638b103c0a2p-1},
    {0x1.3333333333333p-2, 0x1.4800000000000p+4, 0x1.4ff951044b692p-36},
    {0x1.8000000000000p+0, 0x1.f400000000000p+9, 0x1.f2dd011353699p+584},
    {0x1.ccccccccccccdp-1, -0x1.7700000000000p+12, 0x1.035095ef94e4cp+912},
    {0x1.2a05f20000000p+33, 0x1.b7cdfd9d7bdbbp-34, 0x1.00000009e3b81p+0},
    {0x1.0000000000000p+8, 0x1.0000000000000p-3, 0x1.0000000000000p+1},
    {0x1.fde9f10a8d361p+78, 0x1.4000000000000p+1, 0x1.665cb1388774bp+197},
    {0x1.0000000000000p-2, 0x1.b333333333333p+0, 0x1.8406003b2ae5dp-4},
    {0x1.4800000000000p+5, 0x1.ae147ae147ae1p-1, 0x1.6a1ffb4e2a8b0p+4},
    {0x1.0000000000000p+1, -0x1.0c80000000000p+10, 0x0.0000000000001p-1022},
    {0x1.0000000000000p+1, 0x1.ffc0000000000p+9, 0x1.6a09e667f3bcdp+1023},
});

TEST(Math, BitPatternsArePinned) {
  for (const auto& [x, value] : kLogs) {
    EXPECT_EQ(bits(log(x)), bits(value)) << x;
  }
  for (const auto& [x, value] : kExps) {
    EXPECT_EQ(bits(exp(x)), bits(value)) << x;
  }
  for (const auto& [x, y, value] : kPows) {
    EXPECT_EQ(bits(pow(x, y)), bits(value)) << x << " to the " << y;
  }
}

TEST(Math, ManyLogarithmsAtOnceAreTheSame) {
  std::vector<double> numbers = {
      1.0, 0.5, 1e-300, 5e-324, 0.999999, 7.25e200, 0.0, -1.0, kInfinity};
  std::vector<double> singly;
  for (const double x : numbers) {
    singly.push_back(log(x));
  }
  log(std::span(numbers));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(numbers[i]), std::bit_cast<std::uint64_t>(singly[i]))
        << i;
  }
}

TEST(Math, SpecialCasesOfLog) {
  EXPECT_EQ(bits(log(1.0)), bits(0.0));
  EXPECT_EQ(log(0.0), -kInfinity);
  EXPECT_EQ(log(-0.0), -kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log(-1.0)));
  EXPECT_TRUE(std::isnan(log(-kInfinity)));
  EXPECT_TRUE(std::isnan(log(kNaN)));
}

TEST(Math, SpecialCasesOfExp) {
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(-0.0), 1.0);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(bits(exp(-kInfinity)), bits(0.0));
  EXPECT_TRUE(std::isnan(exp(kNaN)));
  // log(largest double) = 709.782712893383973...; half the smallest: -745.133219101941108...
  EXPECT_LT(exp(709.78271289338397), kInfinity);
  EXPECT_EQ(exp(709.78271289338409), kInfinity);
  EXPECT_GT(exp(-745.13321910194110), 0.0);
  EXPECT_EQ(exp(-745.13321910194122), 0.0);
  EXPECT_EQ(exp(1e308), kInfinity);
  EXPECT_EQ(exp(-1e308), 0.0);
}

TEST(Math, SpecialCasesOfPow) {
  for (const double y : {0.0, -0.0, 1.5, -1.5, 1e300, kInfinity, -kInfinity, kNaN}) {
    EXPECT_EQ(pow(1.0, y), 1.0) << y;
  }
  for (const double x : {0.0, 0.3, 7.0, kInfinity, kNaN}) {
    EXPECT_EQ(pow(x, 0.0), 1.0) << x;
  }
  EXPECT_EQ(bits(pow(0.0, 0.25)), bits(0.0));
  EXPECT_EQ(pow(0.0, -0.25), kInfinity);
  EXPECT_EQ(pow(0.0, kInfinity), 0.0);
  EXPECT_EQ(pow(kInfinity, 0.1), kInfinity);
  EXPECT_EQ(pow(kInfinity, -0.1), 0.0);
  EXPECT_EQ(pow(0.9, kInfinity), 0.0);
  EXPECT_EQ(pow(0.9, -kInfinity), kInfinity);
  EXPECT_EQ(pow(1.1, 1e300), kInfinity);
  EXPECT_EQ(pow(1.1, -1e300), 0.0);
  EXPECT_EQ(pow(7.0, 5e-324), 1.0);
  for (const double x : {-1.0, -0.5, -kInfinity}) {
    EXPECT_TRUE(std::isnan(pow(x, 2.0))) << x;
    EXPECT_TRUE(std::isnan(pow(x, 0.0))) << x;
  }
  EXPECT_TRUE(std::isnan(pow(kNaN, 1.0)));
  EXPECT_TRUE(std::isnan(pow(2.0, kNaN)));
}

// Against the long double functions of the C library, which have 11 more bits.
class MathAccuracy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::numeric_limits<long double>::digits < 64) {
      GTEST_SKIP() << "long double is no wider than double here";
    }
  }

  static double error_in_ulps(double found, long double truth) {
    int exponent = 0;
    static_cast<void>(std::frexp(static_cast<double>(truth), &exponent));
    const int ulp = std::max(exponent - std::numeric_limits<double>::digits, -1074);
    return static_cast<double>(
        std::fabs(std::ldexp(static_cast<long double>(found) - truth, -ulp)));
  }

  double between(double low, double high) { return low + (high - low) * rng_.uniform(); }

  static constexpr int kDraws = 1'000'000;
  // What math.hpp promises; 0.5 of it is the rounding of the result.
  static constexpr double kBound = 0.52;
  RngStream rng_{1, 0, "math accuracy", 0};
};

TEST_F(MathAccuracy, Log) {
  double worst = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const auto any = std::bit_cast<double>(rng_.next_u64() >> 1);
    const double positive = std::isfinite(any) && any > 0.0 ? any : 1.0;
    const double near_one = 1.0 + std::ldexp(rng_.uniform() - 0.5, -(i % 50));
    for (const double x : {positive, near_one, between(0.5, 2.0)}) {
      worst = std::max(worst, error_in_ulps(log(x), std::log(static_cast<long double>(x))));
    }
  }
  EXPECT_LE(worst, kBound);
}

TEST_F(MathAccuracy, Exp) {
  double worst = 0.0;
  double worst_subnormal = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    for (const double x : {between(-708.0, 709.78), std::ldexp(between(-1.0, 1.0), -(i % 50))}) {
      worst = std::max(worst, error_in_ulps(exp(x), std::exp(static_cast<long double>(x))));
    }
    const double low = between(-745.0, -708.5);
    worst_subnormal =
        std::max(worst_subnormal, error_in_ulps(exp(low), std::exp(static_cast<long double>(low))));
  }
  EXPECT_LE(worst, kBound);
  EXPECT_LE(worst_subnormal, 1.0);
}

TEST_F(MathAccuracy, Pow) {
  double worst = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    // Bases from 2^-1000 to 2^1000, half of them ever nearer to 1; exponents that use the whole
    // range.
    const double x = exp(between(-693.0, 693.0) * std::ldexp(1.0, -(i % 60)));
    const double y = between(-708.0, 708.0) / std::max(std::abs(log(x)), 0x1p-53);
    const long double truth = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    if (truth > 0x1p-1022L && truth < 0x1p1023L) {
      worst = std::max(worst, error_in_ulps(pow(x, y), truth));
    }
  }
  EXPECT_LE(worst, kBound);
}

}  // namespace
}  // namespace ridgeline::core

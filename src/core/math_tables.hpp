#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/int128.hpp"

/// The constants behind core/math.cpp, computed at compile time in fixed point instead of copied
/// from a table. Everything here is exact to about 2^-118, far beyond the 2^-95 that the doubles
/// below can hold.
namespace ridgeline::core::math_tables {

/// A number as the sum of two doubles; `hi` has few enough bits to make some products exact.
struct Split {
  double hi = 0.0;
  double lo = 0.0;
};

/// Unsigned fixed point in units of 2^-124: 0 to just below 16; products need factors below 2.
using Fixed = Uint128;
inline constexpr int kFixedBits = 124;
inline constexpr Fixed kFixedOne = Fixed{1} << kFixedBits;

/// a * b, a few units short: the product of the low halves is dropped.
consteval Fixed multiply(Fixed a, Fixed b) {
  const Fixed a_high = a >> 64;
  const Fixed b_high = b >> 64;
  const Fixed a_low = static_cast<std::uint64_t>(a);
  const Fixed b_low = static_cast<std::uint64_t>(b);
  return ((a_high * b_high) << (128 - kFixedBits)) +
         ((a_high * b_low + a_low * b_high) >> (kFixedBits - 64));
}

/// log(numerator / denominator) for 1 <= numerator / denominator <= 2, as 2 atanh((n - d) / (n +
/// d)).
consteval Fixed log_ratio(unsigned numerator, unsigned denominator) {
  const Fixed s = kFixedOne / (numerator + denominator) * (numerator - denominator);
  const Fixed s_squared = multiply(s, s);
  Fixed sum = 0;
  Fixed power = s;
  for (unsigned k = 1; power != 0; k += 2) {
    sum += power / k;
    power = multiply(power, s_squared);
  }
  return 2 * sum;
}

inline constexpr Fixed kLn2 = log_ratio(2, 1);

/// hi is a multiple of 2^-42 and lo the rest.
inline constexpr int kHighBits = 42;
consteval Split split(Fixed value) {
  constexpr int kDropped = kFixedBits - kHighBits;
  const auto high = static_cast<std::int64_t>((value + (Fixed{1} << (kDropped - 1))) >> kDropped);
  const auto rest = static_cast<Int128>(value - (static_cast<Fixed>(high) << kDropped));
  constexpr int kRestShift = 20;  // |rest| < 2^82: bring it into 63 bits.
  static_assert(kFixedBits - kRestShift == 104);
  return {.hi = static_cast<double>(high) * 0x1p-42,
          .lo = static_cast<double>(static_cast<std::int64_t>(rest >> kRestShift)) * 0x1p-104};
}

/// Logarithm: table points c of 1 + j/128 for j = 0 .. 128. `reciprocal` is 1/c rounded to a
/// multiple of 2^-10, and log_c is the exact minus logarithm of that; from kLogWrap on, of twice
/// that: those mantissas count as below 1, so that log(x) has no cancellation near 1.
struct LogPoint {
  double reciprocal = 0.0;
  Split log_c;
};
inline constexpr unsigned kLogIntervals = 128;
/// The first j with 1 + j/128 above the square root of 2.
inline constexpr unsigned kLogWrap = 54;

consteval std::array<LogPoint, kLogIntervals + 1> make_log_points() {
  constexpr unsigned kUnits = 1024;
  std::array<LogPoint, kLogIntervals + 1> points{};
  for (unsigned j = 0; j <= kLogIntervals; ++j) {
    const unsigned divisor = kLogIntervals + j;
    const unsigned units = (kUnits * kLogIntervals + divisor / 2) / divisor;
    points[j].reciprocal = static_cast<double>(units) / kUnits;
    if (j < kLogWrap) {
      points[j].log_c = split(log_ratio(kUnits, units));
    } else {
      const Split above = split(log_ratio(2 * units, kUnits));
      points[j].log_c = {.hi = -above.hi, .lo = -above.lo};
    }
  }
  return points;
}
inline constexpr auto kLogPoints = make_log_points();
inline constexpr Split kLogOf2 = split(kLn2);

/// Exponential: 2^(i/128) for i = 0 .. 127 as a double, and what it lacks relative to itself.
struct ExpPoint {
  double value = 1.0;
  double tail = 0.0;
};
inline constexpr unsigned kExpIntervals = 128;

consteval Fixed exp_fixed(Fixed x) {
  Fixed sum = kFixedOne;
  Fixed term = kFixedOne;
  for (unsigned n = 1; term != 0; ++n) {
    term = multiply(term, x) / n;
    sum += term;
  }
  return sum;
}

consteval std::array<ExpPoint, kExpIntervals> make_exp_points() {
  constexpr int kDropped = kFixedBits - 52;  // A double in [1, 2) counts units of 2^-52.
  std::array<ExpPoint, kExpIntervals> points{};
  for (unsigned i = 0; i < kExpIntervals; ++i) {
    const Fixed exact = exp_fixed(kLn2 / kExpIntervals * i);
    const auto units =
        static_cast<std::int64_t>((exact + (Fixed{1} << (kDropped - 1))) >> kDropped);
    const auto rest = static_cast<Int128>(exact - (static_cast<Fixed>(units) << kDropped));
    points[i].value = static_cast<double>(units) * 0x1p-52;
    // |rest| < 2^72: shifted by 10 into 63 bits, which leaves units of 2^-114.
    points[i].tail =
        static_cast<double>(static_cast<std::int64_t>(rest >> 10)) * 0x1p-114 / points[i].value;
  }
  return points;
}
inline constexpr auto kExpPoints = make_exp_points();
/// log(2)/128, whose high part times any step count below 2^18 is exact.
inline constexpr Split kExpStep = split(kLn2 / kExpIntervals);

}  // namespace ridgeline::core::math_tables

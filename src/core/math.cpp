#include "core/math.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/math_tables.hpp"

namespace ridgeline::core {
namespace {

using math_tables::kExpPoints;
using math_tables::kExpStep;
using math_tables::kLogOf2;
using math_tables::kLogPoints;
using math_tables::Split;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kMantissaMask = 0x000f'ffff'ffff'ffff;
constexpr int kMantissaBits = 52;
constexpr int kExponentBias = 1023;

double from_bits(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

/// What log(x) is summed up from: x = 2^e z with z in [1, 2), and what the table has of the point c
/// nearest to z.
struct LogParts {
  double e = 0.0;
  /// z in halves of 21 and 32 bits: their products with the 11-bit reciprocal of c, and their
  /// square, are exact.
  double z_high = 0.0;
  double z_low = 0.0;
  double reciprocal = 0.0;
  Split log_c;
};

/// For x positive and finite.
inline LogParts log_parts(double x) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  std::int64_t exponent = 0;
  if (bits >> kMantissaBits == 0) [[unlikely]] {  // Subnormal: scale by 2^52.
    bits = std::bit_cast<std::uint64_t>(x * 0x1p52);
    exponent = -kMantissaBits;
  }
  const std::uint64_t mantissa = bits & kMantissaMask;
  const std::uint64_t index = (mantissa + (std::uint64_t{1} << 44)) >> 45;
  exponent += static_cast<std::int64_t>(bits >> kMantissaBits) - kExponentBias;
  exponent += index >= math_tables::kLogWrap ? 1 : 0;
  const std::uint64_t z_bits = mantissa | (std::uint64_t{kExponentBias} << kMantissaBits);
  const double z_high = from_bits((z_bits + 0x8000'0000) & 0xffff'ffff'0000'0000);
  const auto& point = kLogPoints[index];
  return {.e = static_cast<double>(exponent),
          .z_high = z_high,
          .z_low = from_bits(z_bits) - z_high,
          .reciprocal = point.reciprocal,
          .log_c = point.log_c};
}

/// log(x) as hi + lo, to about 2^-68 relative.
///
/// r = z/c - 1 is at most 2^-7.8; log(x) = e log(2) + log(c) + r - r^2/2 + r^3/3 - ... + r^9/9. The
/// first four are summed without loss.
inline Split log_sum(const LogParts& x) {
  const double r_high = x.z_high * x.reciprocal - 1.0;
  const double r_low = x.z_low * x.reciprocal;
  const double r = r_high + r_low;
  const double r_error = r_low - (r - r_high);

  const double base = x.e * kLogOf2.hi + x.log_c.hi;  // Exact: multiples of 2^-42 below 2^10.
  const double sum = base + r;
  const double sum_error = (base - sum) + r;
  const double half_square = 0.5 * r_high * r_high;
  const double high = sum - half_square;
  const double high_error = (sum - high) - half_square;
  const double cross = 0.5 * r_low * (r_high + r);

  const double r2 = r * r;
  const double low_terms = 1.0 / 3.0 - r * (1.0 / 4.0);
  const double mid_terms = 1.0 / 5.0 - r * (1.0 / 6.0);
  const double high_terms = (1.0 / 7.0 - r * (1.0 / 8.0)) + r2 * (1.0 / 9.0);
  const double cubic = r * r2 * (low_terms + r2 * (mid_terms + r2 * high_terms));

  const double low =
      (x.e * kLogOf2.lo + x.log_c.lo) + r_error + sum_error + high_error - cross + cubic;
  const double result = high + low;
  return {.hi = result, .lo = (high - result) + low};
}

inline Split log_split(double x) {
  return log_sum(log_parts(x));
}

/// exp(high + low) for |low| below the last place of high.
///
/// high + low = k log(2)/128 + r; exp = 2^(k div 128) 2^((k mod 128)/128) exp(r), |r| <= 2^-8.5.
inline double exp_split(double high, double low) {
  constexpr double kBeyond = 1024.0;  // exp overflows from 709.8 on and vanishes from -745.2 on.
  if (!(std::abs(high) < kBeyond)) {
    if (std::isnan(high)) {
      return high;
    }
    return high > 0.0 ? kInfinity : 0.0;
  }
  // Adding 1.5 * 2^52 leaves no room for a fraction: this rounds to the nearest integer.
  constexpr double kRounder = 0x1.8p52;
  constexpr double kStepsPerUnit = 1.0 / (kExpStep.hi + kExpStep.lo);
  const double steps = (high * kStepsPerUnit + kRounder) - kRounder;
  const auto k = static_cast<std::int64_t>(steps);
  const double r = ((high - steps * kExpStep.hi) - steps * kExpStep.lo) + low;
  const auto& point = kExpPoints[static_cast<std::uint64_t>(k) % math_tables::kExpIntervals];
  const double r2 = r * r;
  const double series = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const double fraction = (point.tail + r2 * series) + r;

  const std::int64_t n = k >> 7;  // floor(k / 128)
  constexpr std::int64_t kSafe = 1000;
  if (n > -kSafe && n < kSafe) [[likely]] {
    const double scaled = from_bits(std::bit_cast<std::uint64_t>(point.value) +
                                    (static_cast<std::uint64_t>(n) << kMantissaBits));
    return scaled + scaled * fraction;
  }
  // Near the ends of the range: scale in two steps, of which only the last can round or overflow.
  const double last = n > 0 ? 0x1p1000 : 0x1p-1000;
  const std::int64_t rest = n > 0 ? n - kSafe : n + kSafe;
  const double first = from_bits(static_cast<std::uint64_t>(rest + kExponentBias) << kMantissaBits);
  return (point.value + point.value * fraction) * first * last;
}

/// The product of a and b.hi + b.lo as hi + lo (T. J. Dekker, "A floating-point technique for
/// extending the available precision", Numer. Math. 18, 1971, with the halves cut by masking).
inline Split multiply(double a, Split b) {
  constexpr std::uint64_t kUpperHalf = 0xffff'ffff'f800'0000;
  const double a_high = from_bits(std::bit_cast<std::uint64_t>(a) & kUpperHalf);
  const double a_low = a - a_high;
  const double b_high = from_bits(std::bit_cast<std::uint64_t>(b.hi) & kUpperHalf);
  const double b_low = b.hi - b_high;
  const double product = a * b.hi;
  const double error =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return {.hi = product, .lo = error + a * b.lo};
}

bool is_positive_finite(double x) {
  return x > 0.0 && x < kInfinity;
}

/// pow for x of 0 or infinity and for infinite y; x is neither NaN, negative nor 1, y neither NaN
/// nor 0.
double pow_at_limits(double x, double y) {
  const bool grows = (x > 1.0) == (y > 0.0);
  return grows ? kInfinity : 0.0;
}

}  // namespace

double log(double x) {
  if (!is_positive_finite(x)) [[unlikely]] {
    if (x == 0.0) {
      return -kInfinity;
    }
    return x > 0.0 ? kInfinity : kNaN;
  }
  return log_split(x).hi;
}

/// Some at a time: what is looked up for each stands in columns, over which compilers sum up two or
/// more at once.
void log(std::span<double> numbers) {
  constexpr std::size_t kTogether = 32;
  using Column = std::array<double, kTogether>;
  while (!numbers.empty()) {
    const std::span<double> some = numbers.first(std::min(numbers.size(), kTogether));
    numbers = numbers.subspan(some.size());
    if (!std::all_of(some.begin(), some.end(), is_positive_finite)) [[unlikely]] {
      for (double& x : some) {
        x = log(x);
      }
      continue;
    }
    Column e;
    Column z_high;
    Column z_low;
    Column reciprocal;
    Column log_c_high;
    Column log_c_low;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const LogParts parts = log_parts(some[i]);
      e[i] = parts.e;
      z_high[i] = parts.z_high;
      z_low[i] = parts.z_low;
      reciprocal[i] = parts.reciprocal;
      log_c_high[i] = parts.log_c.hi;
      log_c_low[i] = parts.log_c.lo;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i] = log_sum({.e = e[i],
                         .z_high = z_high[i],
                         .z_low = z_low[i],
                         .reciprocal = reciprocal[i],
                         .log_c = {.hi = log_c_high[i], .lo = log_c_low[i]}})
                    .hi;
    }
  }
}

double exp(double x) {
  return exp_split(x, 0.0);
}

double pow(double x, double y) {
  if (x < 0.0) {
    return kNaN;
  }
  if (y == 0.0 || x == 1.0) {
    return 1.0;
  }
  if (std::isnan(x) || std::isnan(y)) {
    return kNaN;
  }
  // Beyond 2^64 the result is 0 or infinity for every x but 1, as |log x| >= 2^-53; multiply needs
  // y finite.
  constexpr double kHugeExponent = 0x1p64;
  if (!is_positive_finite(x) || std::abs(y) >= kHugeExponent) [[unlikely]] {
    return pow_at_limits(x, y);
  }
  const Split exponent = multiply(y, log_split(x));
  return exp_split(exponent.hi, exponent.lo);
}

}  // namespace ridgeline::core

#include "core/distributions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

bool is_finite_at_least(double value, double lowest) {
  return value >= lowest && std::isfinite(value);
}
bool is_finite_above(double value, double lowest) {
  return value > lowest && std::isfinite(value);
}

/// Coefficients from the lowest power on.
using Degree7 = std::array<double, 8>;

double polynomial(const Degree7& c, double x) {
  double sum = c[7];
  for (std::size_t i = 7; i-- > 0;) {
    sum = sum * x + c[i];
  }
  return sum;
}

/// AS 241, PPND16: numerator and denominator for the middle, the shoulders and the far tails.
constexpr Degree7 kMiddleTop = {3.3871328727963666080e0,
                                1.3314166789178437745e+2,
                                1.9715909503065514427e+3,
                                1.3731693765509461125e+4,
                                4.5921953931549871457e+4,
                                6.7265770927008700853e+4,
                                3.3430575583588128105e+4,
                                2.5090809287301226727e+3};
constexpr Degree7 kMiddleBottom = {1.0,
                                   4.2313330701600911252e+1,
                                   6.8718700749205790830e+2,
                                   5.3941960214247511077e+3,
                                   2.1213794301586595867e+4,
                                   3.9307895800092710610e+4,
                                   2.8729085735721942674e+4,
                                   5.2264952788528545610e+3};
constexpr Degree7 kShoulderTop = {1.42343711074968357734e0,
                                  4.63033784615654529590e0,
                                  5.76949722146069140550e0,
                                  3.64784832476320460504e0,
                                  1.27045825245236838258e0,
                                  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2,
                                  7.74545014278341407640e-4};
constexpr Degree7 kShoulderBottom = {1.0,
                                     2.05319162663775882187e0,
                                     1.67638483018380384940e0,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
constexpr Degree7 kTailTop = {6.65790464350110377720e0,
                              5.46378491116411436990e0,
                              1.78482653991729133580e0,
                              2.96560571828504891230e-1,
                              2.65321895265761230930e-2,
                              1.24266094738807843860e-3,
                              2.71155556874348757815e-5,
                              2.01033439929228813265e-7};
constexpr Degree7 kTailBottom = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

/// Below this, short series are exact to double precision and log(1 + x)/x, (exp(x) - 1)/x lose 11
/// digits.
constexpr double kSmall = 1e-5;

/// log(1 + x) / x.
double log1p_ratio(double x) {
  return std::abs(x) < kSmall ? 1.0 - x * (0.5 - x / 3.0) : log(1.0 + x) / x;
}

/// (exp(x) - 1) / x.
double expm1_ratio(double x) {
  return std::abs(x) < kSmall ? 1.0 + x * (0.5 + x / 6.0) : (exp(x) - 1.0) / x;
}

/// The largest of some weights fit for an alias table, or what is wrong with them.
Result<double> largest_weight(std::span<const double> weights) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (weights.empty() || weights.size() > kMost) {
    return fail(ErrorCode::kUsage,
                fmt::format("{} weights, expected 1 to {}", weights.size(), kMost));
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!is_finite_at_least(weights[i], 0.0)) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("weight {} is {}, expected a finite number of at least 0", i, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0.0) {
    return fail(ErrorCode::kUsage, "all weights are 0, expected one above 0");
  }
  return largest;
}

double standard_normal(RngStream& rng) {
  return normal_quantile(rng.uniform());
}

}  // namespace

double exponential(RngStream& rng, double mean) {
  RIDGELINE_CHECK(is_finite_at_least(mean, 0.0), "mean of an exponential variable");
  return -mean * log(rng.uniform());
}

void exponential(RngStream& rng, double mean, std::span<double> variables) {
  RIDGELINE_CHECK(is_finite_at_least(mean, 0.0), "mean of an exponential variable");
  rng.uniform(variables);
  log(variables);
  for (double& variable : variables) {
    variable *= -mean;
  }
}

double normal_quantile(double p) {
  RIDGELINE_CHECK(p > 0.0 && p < 1.0, "probability of a normal quantile");
  // The constants of the split are the algorithm's.
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kMiddleTop, r) / polynomial(kMiddleBottom, r);
  }
  const double r = std::sqrt(-log(q < 0.0 ? p : 1.0 - p));
  const double size = r <= 5.0
                          ? polynomial(kShoulderTop, r - 1.6) / polynomial(kShoulderBottom, r - 1.6)
                          : polynomial(kTailTop, r - 5.0) / polynomial(kTailBottom, r - 5.0);
  return q < 0.0 ? -size : size;
}

double normal_cdf(double z) {
  double low = 0x1p-60;
  double high = 1.0 - 0x1p-53;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + (high - low) / 2.0;
    (normal_quantile(middle) < z ? low : high) = middle;
  }
  return low + (high - low) / 2.0;
}

double normal(RngStream& rng, double mean, double std_dev) {
  RIDGELINE_CHECK(std::isfinite(mean) && is_finite_at_least(std_dev, 0.0),
                  "moments of a normal variable");
  return mean + std_dev * standard_normal(rng);
}

LogMoments log_moments_of(double mean_of_value, double std_dev_of_value) {
  RIDGELINE_CHECK(is_finite_above(mean_of_value, 0.0) && is_finite_at_least(std_dev_of_value, 0.0),
                  "moments of a lognormal variable");
  const double variation = std_dev_of_value / mean_of_value;
  const double squared = variation * variation;
  const double log_variance = squared * log1p_ratio(squared);
  return {.mean = log(mean_of_value) - 0.5 * log_variance, .std_dev = std::sqrt(log_variance)};
}

double lognormal(RngStream& rng, LogMoments moments) {
  return exp(normal(rng, moments.mean, moments.std_dev));
}

double gamma(RngStream& rng, double shape, double scale) {
  RIDGELINE_CHECK(is_finite_above(shape, 0.0) && is_finite_at_least(scale, 0.0),
                  "parameters of a gamma variable");
  if (shape < 1.0) {
    const double larger = gamma(rng, shape + 1.0, scale);
    return larger * pow(rng.uniform(), 1.0 / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = standard_normal(rng);
    const double root = 1.0 + c * x;
    if (root <= 0.0) {
      continue;
    }
    const double v = root * root * root;
    const double u = rng.uniform();
    const double x2 = x * x;
    // The squeeze spares the logarithms 98 times in 100.
    if (u < 1.0 - 0.0331 * x2 * x2 || log(u) < 0.5 * x2 + d * (1.0 - v + log(v))) {
      return d * v * scale;
    }
  }
}

double weibull(RngStream& rng, double shape, double scale) {
  RIDGELINE_CHECK(is_finite_above(shape, 0.0) && is_finite_at_least(scale, 0.0),
                  "parameters of a Weibull variable");
  return scale * pow(-log(rng.uniform()), 1.0 / shape);
}

std::int64_t uniform_integer(RngStream& rng, std::int64_t low, std::int64_t high) {
  RIDGELINE_CHECK(low <= high, "an empty range of integers");
  const std::uint64_t range =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = range == 0 ? rng.next_u64() : rng.below(range);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

Result<AliasTable> AliasTable::make(std::span<const double> weights) {
  const auto largest = largest_weight(weights);
  if (!largest) {
    return fail(largest.error());
  }
  // `share[i]` is weight i in units in which the average cell holds `total`.
  const auto count = static_cast<Uint128>(weights.size());
  std::vector<Uint128> share;
  share.reserve(weights.size());
  Uint128 total = 0;
  for (const double weight : weights) {
    const auto units = static_cast<std::uint64_t>(std::floor(weight / *largest * 0x1p52 + 0.5));
    total += units;
    share.push_back(units * count);
  }

  std::vector<std::uint32_t> poor;
  std::vector<std::uint32_t> rich;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    (share[i] < total ? poor : rich).push_back(i);
  }
  AliasTable table;
  table.cells_.resize(weights.size());
  // Each poor cell is filled up by a rich one, whose share shrinks by that. In exact arithmetic the
  // poor never outlast the rich, and the last rich hold just `total`.
  while (!poor.empty()) {
    const std::uint32_t taker = poor.back();
    poor.pop_back();
    const std::uint32_t giver = rich.back();
    const double part = static_cast<double>(share[taker]) / static_cast<double>(total);
    table.cells_[taker] = {.threshold = part < 1.0 ? static_cast<std::uint64_t>(part * 0x1p64)
                                                   : std::numeric_limits<std::uint64_t>::max(),
                           .alias = giver};
    share[giver] -= total - share[taker];
    if (share[giver] < total) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
  for (const std::uint32_t full : rich) {
    table.cells_[full] = {.threshold = std::numeric_limits<std::uint64_t>::max(), .alias = full};
  }
  return table;
}

std::size_t AliasTable::draw(RngStream& rng) const {
  // The high half of the product chooses the cell; the low half is uniform within it, up to size /
  // 2^64.
  const Uint128 product = static_cast<Uint128>(rng.next_u64()) * cells_.size();
  const auto index = static_cast<std::size_t>(product >> 64);
  const Cell& cell = cells_[index];
  return static_cast<std::uint64_t>(product) < cell.threshold ? index : cell.alias;
}

Zipf::Zipf(std::int64_t n, double s) : n_(static_cast<double>(n)), s_(s) {
  constexpr std::int64_t kLargest = std::int64_t{1}
                                    << 50;  // Ranks and their halves are exact doubles.
  RIDGELINE_CHECK(n >= 1 && n <= kLargest && is_finite_at_least(s, 0.0),
                  "parameters of Zipf's law");
  area_low_ = integral(1.5) - 1.0;
  area_high_ = integral(n_ + 0.5);
  certain_ = 2.0 - integral_inverse(integral(2.5) - weight(2.0));
}

double Zipf::weight(double x) const {
  return pow(x, -s_);
}

/// The integral of x^-s from 1, (x^(1-s) - 1) / (1-s), which is log(x) for s = 1.
double Zipf::integral(double x) const {
  const double log_x = log(x);
  return log_x * expm1_ratio((1.0 - s_) * log_x);
}

double Zipf::integral_inverse(double area) const {
  // Rounding may carry the argument past the pole at -1, which stands for an infinite rank.
  const double scaled = std::max((1.0 - s_) * area, -1.0);
  return exp(area * log1p_ratio(scaled));
}

std::int64_t Zipf::draw(RngStream& rng) const {
  while (true) {
    const double area = area_high_ + rng.uniform() * (area_low_ - area_high_);
    const double x = integral_inverse(area);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (k - x <= certain_ || area >= integral(k + 0.5) - weight(k)) {
      return static_cast<std::int64_t>(k);
    }
  }
}

}  // namespace ridgeline::core

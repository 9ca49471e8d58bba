#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "core/rng.hpp"

/// Random variates by our own arithmetic: the same stream gives the same numbers everywhere.
/// Parameters outside the stated ranges are bugs of the caller (checked); what users may write is
/// checked where it is read.
namespace ridgeline::core {

/// Exponential with the given mean >= 0: -mean log(u). One draw.
double exponential(RngStream& rng, double mean);
/// As many of them, as drawn one after the other.
void exponential(RngStream& rng, double mean, std::span<double> variables);

/// The p-quantile of the standard normal distribution, 0 < p < 1, to about 1e-16 relative (M. J.
/// Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied
/// Statistics 37(3), 1988).
double normal_quantile(double p);
/// P(Z <= z) of the standard normal distribution: its inverse, by bisection.
double normal_cdf(double z);

/// Normal by inverse transform: one draw, and monotone in it. std_dev >= 0.
double normal(RngStream& rng, double mean, double std_dev);

/// Mean and standard deviation of the logarithm of a lognormal variable.
struct LogMoments {
  double mean = 0.0;
  double std_dev = 0.0;
};

/// The moments of the logarithm of a lognormal variable whose own mean (> 0) and standard deviation
/// (>= 0) are given: std_dev^2 = log(1 + (s/m)^2), mean = log(m) - std_dev^2 / 2.
LogMoments log_moments_of(double mean_of_value, double std_dev_of_value);

/// Lognormal: exp of a normal with the given moments. One draw.
double lognormal(RngStream& rng, LogMoments moments);

/// Gamma with mean shape * scale and variance shape * scale^2; shape > 0, scale >= 0 (G. Marsaglia,
/// W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000). Two draws
/// or more, one more for shape < 1.
double gamma(RngStream& rng, double shape, double scale);

/// Weibull, P(X > x) = exp(-(x/scale)^shape), by inverse transform; shape > 0, scale >= 0. One
/// draw.
double weibull(RngStream& rng, double shape, double scale);

/// Uniform over the integers low .. high, both included; low <= high.
std::int64_t uniform_integer(RngStream& rng, std::int64_t low, std::int64_t high);

/// Draws an index with probability proportional to its weight, in constant time: the alias method
/// (A. J. Walker, "An efficient method for generating discrete random variables with general
/// distributions", ACM TOMS 3(3), 1977), built in integers, so that an index of weight 0 is never
/// drawn. Weights count to 2^-52 of the largest. 16 bytes per weight.
class AliasTable {
 public:
  /// Refuses an empty list, more than 2^32 - 1 weights, a weight that is negative or not finite,
  /// and all zeros; the message names the first such weight by its number from 0.
  static Result<AliasTable> make(std::span<const double> weights);

  /// One draw.
  std::size_t draw(RngStream& rng) const;
  [[nodiscard]] std::size_t size() const { return cells_.size(); }

 private:
  struct Cell {
    std::uint64_t threshold =
        0;  ///< The index itself below this part of 2^64, its alias from there on.
    std::uint32_t alias = 0;
  };
  AliasTable() = default;

  std::vector<Cell> cells_;
};

/// Zipf's law over the ranks 1 .. n: P(k) proportional to k^-s. No table, whatever n (W. Hörmann,
/// G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
/// ACM TOMACS 6(3), 1996).
class Zipf {
 public:
  /// 1 <= n <= 2^50; s >= 0 and finite (0 is uniform).
  Zipf(std::int64_t n, double s);

  /// One draw per attempt; fewer than 1.1 attempts on average.
  std::int64_t draw(RngStream& rng) const;

 private:
  [[nodiscard]] double weight(double x) const;
  [[nodiscard]] double integral(double x) const;
  [[nodiscard]] double integral_inverse(double area) const;

  double n_;
  double s_;
  double area_low_;
  double area_high_;
  double certain_;  ///< A rank this little above its point is taken without further test.
};

}  // namespace ridgeline::core

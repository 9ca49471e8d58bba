#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/int128.hpp"
#include "core/packed_integers.hpp"

/// Quantiles of integer values (ticks of simulated time), exact. The p-quantile of n sorted values
/// stands at the 0-based position (n - 1) p, between two values by linear interpolation: numpy's
/// default, and R's type 7 (R. J. Hyndman, Y. Fan, "Sample quantiles in statistical packages", The
/// American Statistician 50(4), 1996).
namespace ridgeline::core {

/// A position between two order statistics: `fraction` (0 to below 1) of the way from number
/// `index` to the next.
struct QuantilePosition {
  std::int64_t index = 0;
  double fraction = 0.0;
};

/// Requires count >= 1 and 0 <= p <= 1. The fraction is 0 at the last value.
QuantilePosition quantile_position(std::int64_t count, double p);

/// low + (high - low) * fraction, without overflow; low <= high.
double interpolate(std::int64_t low, std::int64_t high, double fraction);

/// The quantiles of `values`, which are reordered; in the order of `probabilities`. By selection:
/// linear in the number of values for a few probabilities. Requires at least one value.
std::vector<double> quantiles(std::span<std::int64_t> values,
                              std::span<const double> probabilities);
double quantile(std::span<std::int64_t> values, double p);

/// `repeat` copies each of first, first + growth, ..., `count` values in all.
struct ArithmeticRun {
  std::int64_t first = 0;
  std::int64_t growth = 0;
  std::int64_t count = 1;
  std::int64_t repeat = 1;
};

/// What identifies a multiset of values, however it was cut into runs and in whatever order it was
/// added.
struct Fingerprint {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;      ///< Of the values, mod 2^64.
  std::uint64_t squares = 0;  ///< Sum of the squares, mod 2^64.

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// Exact sums over a multiset of values.
class Moments {
 public:
  /// Requires count and repeat of 0 to 2^32 - 1, and values whose range and distances int64 holds
  /// (checked).
  void add(const ArithmeticRun& run);
  /// One value, without the work that a run needs: metrics adds several per request.
  void add(std::int64_t value) {
    ++count_;
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    sum_ += value;
    squares_ += static_cast<Uint128>(static_cast<Int128>(value) * value);
  }
  void merge(const Moments& other);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Int128 sum() const { return sum_; }
  /// Mod 2^128: exact while it stays below that, as for 10^9 values of up to 100 s in picoseconds.
  [[nodiscard]] Uint128 sum_of_squares() const { return squares_; }
  [[nodiscard]] Fingerprint fingerprint() const;

  /// These require count() >= 1.
  [[nodiscard]] std::int64_t min() const;
  [[nodiscard]] std::int64_t max() const;
  [[nodiscard]] double mean() const;
  /// Of the population (divided by n, numpy's default), from exact sums and so without
  /// cancellation. Requires the sum of squares around the mean to stay below 2^128.
  [[nodiscard]] double std_dev() const;

 private:
  std::int64_t count_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = std::numeric_limits<std::int64_t>::min();
  Int128 sum_ = 0;
  Uint128 squares_ = 0;
};

/// An exact multiset of values kept as arithmetic runs of some ten bytes: memory follows the runs,
/// not the values. Equal neighbours, and single values that continue the run before them, join it,
/// so that one value after another costs no more than the run they form.
class RunMultiset {
 public:
  /// As Moments::add: count and repeat of 0 to 2^32 - 1, any growth.
  void add(std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat);
  void add(std::int64_t value) { add(value, 0, 1, 1); }
  void merge(const RunMultiset& other);

  [[nodiscard]] const Moments& moments() const { return moments_; }
  [[nodiscard]] std::int64_t count() const { return moments_.count(); }
  [[nodiscard]] Fingerprint fingerprint() const { return moments_.fingerprint(); }

  /// The value at 0-based `index` in sorted order; 0 <= index < count().
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const;
  /// As the functions of these names above; require count() >= 1. Two passes over the runs for all
  /// probabilities together, and some over small parts of them.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] std::vector<double> quantiles(std::span<const double> probabilities) const;

  [[nodiscard]] std::size_t num_runs() const { return num_runs_; }

 private:
  struct Run {
    std::int64_t first = 0;
    std::int64_t growth = 0;
    std::uint32_t count = 1;
    std::uint32_t repeat = 1;
  };
  class Selection;
  struct AllRuns;

  bool join(const Run& next);
  void append(const Run& run);

  PackedIntegers
      packed_;  ///< All runs but the last: first less that of the one before, growth, ...
  std::int64_t packed_first_ = 0;  ///< Of the last of those.
  Run last_;
  std::size_t num_runs_ = 0;
  std::uint64_t num_points_ = 0;  ///< Sum of their counts.
  Moments moments_;
};

}  // namespace ridgeline::core

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/statistics/uint192.hpp"

/// Exact sums over integer values (ticks of simulated time), value by value or as arithmetic runs.
namespace ridgeline::statistics {

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
  std::uint64_t sum = 0;      ///< Sum of the values, mod 2^64.
  std::uint64_t squares = 0;  ///< Sum of the squares, mod 2^64.

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// Exact sums over a multiset of values.
class Moments {
 public:
  /// Requires count and repeat of 0 to 2^32 - 1, and values whose range and distances int64 holds
  /// (checked).
  void add(const ArithmeticRun& run) {
    if (run.count == 1 && run.repeat >= 0 && run.repeat <= kMostPerRun) {
      add(run.first, run.repeat);
    } else {
      add_long(run);
    }
  }
  /// One value, without the work that a run needs: metrics adds several per request.
  void add(std::int64_t value) {
    ++count_;
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    sum_ += value;
    squares_.add(static_cast<core::Uint128>(static_cast<core::Int128>(value) * value));
  }
  void add(std::span<const std::int64_t> values);
  void merge(const Moments& other);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] core::Int128 sum() const { return sum_; }
  /// Mod 2^128: exact while it stays below that, as for 10^9 values of up to 100 s in picoseconds.
  [[nodiscard]] core::Uint128 sum_of_squares() const { return squares_.low(); }
  [[nodiscard]] Fingerprint fingerprint() const;

  /// These require count() >= 1.
  [[nodiscard]] std::int64_t min() const;
  [[nodiscard]] std::int64_t max() const;
  [[nodiscard]] double mean() const;
  /// Population deviation (divided by n, numpy's default), from exact sums and so without
  /// cancellation.
  [[nodiscard]] double std_dev() const;

 private:
  static constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();

  /// Adds one value `repeat` times: the commonest run by far, one step's gap.
  void add(std::int64_t value, std::int64_t repeat) {
    if (repeat == 0) {
      return;
    }
    RIDGELINE_CHECK(!__builtin_add_overflow(count_, repeat, &count_), "more than 2^63 values");
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    const core::Int128 sum = static_cast<core::Int128>(value) * repeat;
    sum_ += sum;
    squares_.add(static_cast<core::Uint128>(static_cast<core::Int128>(value) * value),
                 static_cast<std::uint64_t>(repeat));
  }
  void add_long(const ArithmeticRun& run);
  /// At most 128 values.
  void add_few(std::span<const std::int64_t> values);

  std::int64_t count_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = std::numeric_limits<std::int64_t>::min();
  core::Int128 sum_ = 0;
  Uint192 squares_;
};

}  // namespace ridgeline::statistics

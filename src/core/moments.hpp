#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/run_columns.hpp"
#include "core/uint192.hpp"

/// Exact sums over integer values (ticks of simulated time), value by value or as arithmetic runs.
namespace ridgeline::core {

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
  void add(const ArithmeticRun& run) {
    if (run.count == 1 && run.repeat >= 0 && run.repeat <= kMostPerRun) {
      add(run.first, run.repeat);
    } else {
      add_long(run);
    }
  }
  /// The same of a run that is known to be as required, and of at least one value.
  void add_known(const ArithmeticRun& run) {
    std::int64_t values = 0;
    RIDGELINE_CHECK(!__builtin_mul_overflow(run.count, run.repeat, &values) &&
                        !__builtin_add_overflow(count_, values, &count_),
                    "more than 2^63 values");
    const std::int64_t last = run.first + run.growth * (run.count - 1);
    min_ = std::min(min_, std::min(run.first, last));
    max_ = std::max(max_, std::max(run.first, last));
    // The values are f + g i for i below n: their sum is n f + g sum(i), that of their squares
    // n f^2 + 2 f g sum(i) + g^2 sum(i^2).
    constexpr std::int64_t kFew = std::int64_t{1} << 20;
    constexpr std::uint64_t kShort = std::uint64_t{1} << 41;
    if ((static_cast<std::uint64_t>(run.first) | static_cast<std::uint64_t>(last)) < kShort &&
        run.count < kFew) [[likely]] {
      // Then |g| (n - 1) < 2^41 too, and the sums of values fit in 64 bits.
      const std::int64_t sum = run.first * run.count + run.growth * sum_of_indices(run.count);
      const std::int64_t doubled = 2 * sum - run.first * run.count;
      const Int128 growth_squared = static_cast<Int128>(run.growth) * run.growth;
      const Uint128 squares = static_cast<Uint128>(static_cast<Int128>(doubled) * run.first) +
                              static_cast<Uint128>(growth_squared) *
                                  static_cast<std::uint64_t>(sum_of_index_squares(run.count));
      sum_ += static_cast<Int128>(sum) * run.repeat;
      squares_.add(squares, static_cast<std::uint64_t>(run.repeat));
      return;
    }
    const Int128 level = static_cast<Int128>(run.first) * run.count;
    const Int128 slope = static_cast<Int128>(run.growth) * sum_of_indices(run.count);
    const Int128 growth_squared = static_cast<Int128>(run.growth) * run.growth;
    sum_ += (level + slope) * run.repeat;
    const Uint192 squares =
        Uint192::of_signed(level + 2 * slope) * Uint192::of_signed(run.first) +
        Uint192::of_signed(growth_squared) * Uint192::of(sum_of_index_squares(run.count));
    squares_ = squares_ + squares * Uint192::of_signed(run.repeat);
  }
  /// One value, without the work that a run needs: metrics adds several per request.
  void add(std::int64_t value) {
    ++count_;
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    sum_ += value;
    squares_.add(static_cast<Uint128>(static_cast<Int128>(value) * value));
  }
  void add(std::span<const std::int64_t> values);
  /// Of each, ShortRuns::is_run() holds.
  void add_short(const RunColumns& runs);
  void merge(const Moments& other);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Int128 sum() const { return sum_; }
  /// Mod 2^128: exact while it stays below that, as for 10^9 values of up to 100 s in picoseconds.
  [[nodiscard]] Uint128 sum_of_squares() const { return squares_.low(); }
  [[nodiscard]] Fingerprint fingerprint() const;

  /// These require count() >= 1.
  [[nodiscard]] std::int64_t min() const;
  [[nodiscard]] std::int64_t max() const;
  [[nodiscard]] double mean() const;
  /// Of the population (divided by n, numpy's default), from exact sums and so without
  /// cancellation.
  [[nodiscard]] double std_dev() const;

 private:
  static constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();

  /// To multiply by where a division by 3 leaves no rest.
  static constexpr std::uint64_t kInverseOf3 = ~std::uint64_t{0} / 3 * 2 + 1;
  static_assert(3 * kInverseOf3 == 1);

  /// The same value `repeat` times: the commonest run by far, one step's gap.
  void add(std::int64_t value, std::int64_t repeat) {
    if (repeat == 0) {
      return;
    }
    RIDGELINE_CHECK(!__builtin_add_overflow(count_, repeat, &count_), "more than 2^63 values");
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    const Int128 sum = static_cast<Int128>(value) * repeat;
    sum_ += sum;
    squares_.add(static_cast<Uint128>(static_cast<Int128>(value) * value),
                 static_cast<std::uint64_t>(repeat));
  }
  void add_long(const ArithmeticRun& run);

  /// The sums of i and of i^2 for i = 0 ... n - 1, n < 2^32.
  static std::int64_t sum_of_indices(std::int64_t n) {
    const auto count = static_cast<std::uint64_t>(n);
    return static_cast<std::int64_t>(count * (count - 1) / 2);
  }
  static Uint128 sum_of_index_squares(std::int64_t n) {
    // (n - 1) n (2n - 1) / 6. Division by 3 leaves no rest and so is multiplication by its inverse
    // modulo the range, for which 64 bits do most often.
    constexpr std::int64_t kSmall = std::int64_t{1} << 21;
    const auto twice = static_cast<std::uint64_t>(2 * n - 1);
    const auto indices = static_cast<std::uint64_t>(sum_of_indices(n));
    if (n < kSmall) [[likely]] {
      const std::uint64_t third = indices * twice * kInverseOf3;
      return third;
    }
    constexpr Uint128 kLongInverseOf3 = ~Uint128{0} / 3 * 2 + 1;
    static_assert(3 * kLongInverseOf3 == 1);
    return static_cast<Uint128>(indices) * twice * kLongInverseOf3;
  }

  std::int64_t count_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = std::numeric_limits<std::int64_t>::min();
  Int128 sum_ = 0;
  Uint192 squares_;
};

}  // namespace ridgeline::core

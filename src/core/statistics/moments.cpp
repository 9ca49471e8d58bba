#include "core/statistics/moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/statistics/overflow.hpp"
#include "core/statistics/uint192.hpp"

namespace ridgeline::statistics {
namespace {

/// The sums of i and of i^2 for i = 0 ... n - 1, n < 2^32.
std::int64_t sum_of_indices(std::int64_t n) {
  const auto count = static_cast<std::uint64_t>(n);
  return static_cast<std::int64_t>(count * (count - 1) / 2);
}
core::Uint128 sum_of_index_squares(std::int64_t n) {
  // (n - 1) n (2n - 1) / 6. Division by 3 leaves no rest and so is multiplication by its inverse
  // modulo the range, for which 64 bits do most often.
  constexpr std::int64_t kSmall = std::int64_t{1} << 21;
  const auto twice = static_cast<std::uint64_t>(2 * n - 1);
  const auto indices = static_cast<std::uint64_t>(sum_of_indices(n));
  if (n < kSmall) [[likely]] {
    constexpr std::uint64_t kInverseOf3 = ~std::uint64_t{0} / 3 * 2 + 1;
    static_assert(3 * kInverseOf3 == 1);
    const std::uint64_t third = indices * twice * kInverseOf3;  // Modulo 2^64.
    return third;
  }
  constexpr core::Uint128 kInverseOf3 = ~core::Uint128{0} / 3 * 2 + 1;
  static_assert(3 * kInverseOf3 == 1);
  return static_cast<core::Uint128>(indices) * twice * kInverseOf3;
}

/// Whether values are of 0 to 2^41 - 1, and so few that sums of them fit in 64 bits and sums of
/// their squares in 128. 2^41 picoseconds are two seconds: nearly all runs of token gaps qualify.
bool is_short(const ArithmeticRun& run) {
  constexpr int kValueBits = 41;
  constexpr int kCountBits = 20;
  constexpr int kRepeatBits = 26;
  const auto first = static_cast<std::uint64_t>(run.first);
  const auto growth = static_cast<std::uint64_t>(run.growth);
  const auto steps = static_cast<std::uint64_t>(run.count) - 1;
  const auto repeats = static_cast<std::uint64_t>(run.repeat) - 1;
  const std::uint64_t magnitude = run.growth < 0 ? 0 - growth : growth;
  return ((first | (first + growth * steps) | magnitude) >> kValueBits) == 0 &&
         steps >> kCountBits == 0 && repeats >> kRepeatBits == 0;
}

}  // namespace

void Moments::add_long(const ArithmeticRun& run) {
  const bool is_short_run = is_short(run);
  if (!is_short_run) [[unlikely]] {
    RIDGELINE_CHECK(run.count >= 0 && run.count <= kMostPerRun, "count of an arithmetic run");
    RIDGELINE_CHECK(run.repeat >= 0 && run.repeat <= kMostPerRun, "repeats of an arithmetic run");
    if (run.count == 0 || run.repeat == 0) {
      return;
    }
    RIDGELINE_CHECK(reach(run.first, run.growth, run.count - 1).has_value(),
                    "an arithmetic run leaves the range of int64");
  }
  std::int64_t values = 0;
  RIDGELINE_CHECK(!__builtin_mul_overflow(run.count, run.repeat, &values) &&
                      !__builtin_add_overflow(count_, values, &count_),
                  "more than 2^63 values");
  const std::int64_t last = run.first + run.growth * (run.count - 1);
  min_ = std::min(min_, std::min(run.first, last));
  max_ = std::max(max_, std::max(run.first, last));
  // The values are f + g i for i below n: their sum is n f + g sum(i), that of their squares
  // n f^2 + 2 f g sum(i) + g^2 sum(i^2).
  const core::Int128 growth_squared = static_cast<core::Int128>(run.growth) * run.growth;
  if (is_short_run) [[likely]] {
    // Then |g| (n - 1) < 2^41 too.
    const std::int64_t sum = run.first * run.count + run.growth * sum_of_indices(run.count);
    const std::int64_t doubled = 2 * sum - run.first * run.count;
    const core::Uint128 squares =
        static_cast<core::Uint128>(static_cast<core::Int128>(doubled) * run.first) +
        static_cast<core::Uint128>(growth_squared) *
            static_cast<std::uint64_t>(sum_of_index_squares(run.count));
    sum_ += static_cast<core::Int128>(sum) * run.repeat;
    squares_.add(squares * static_cast<std::uint64_t>(run.repeat));
    return;
  }
  const core::Int128 level = static_cast<core::Int128>(run.first) * run.count;
  const core::Int128 slope = static_cast<core::Int128>(run.growth) * sum_of_indices(run.count);
  sum_ += (level + slope) * run.repeat;
  const Uint192 squares =
      Uint192::of_signed(level + 2 * slope) * Uint192::of_signed(run.first) +
      Uint192::of_signed(growth_squared) * Uint192::of(sum_of_index_squares(run.count));
  squares_ = squares_ + squares * Uint192::of_signed(run.repeat);
}

void Moments::add(std::span<const std::int64_t> values) {
  // The sums of so few values fit in fewer bits, if no value is large.
  constexpr std::size_t kFew = 128;
  for (; values.size() > kFew; values = values.subspan(kFew)) {
    add_few(values.first(kFew));
  }
  add_few(values);
}

void Moments::add_few(std::span<const std::int64_t> values) {
  if (values.empty()) {
    return;
  }
  std::int64_t least = values[0];
  std::int64_t greatest = values[0];
  std::uint64_t sum = 0;
  core::Uint128 squares = 0;
  for (const std::int64_t value : values) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
    const auto magnitude = static_cast<std::uint64_t>(value);
    sum += magnitude;
    squares += static_cast<core::Uint128>(magnitude) * magnitude;
  }
  constexpr std::int64_t kLarge = std::int64_t{1} << 56;
  if (least < 0 || greatest >= kLarge) [[unlikely]] {
    for (const std::int64_t value : values) {
      add(value);
    }
    return;
  }
  RIDGELINE_CHECK(
      !__builtin_add_overflow(count_, static_cast<std::int64_t>(values.size()), &count_),
      "more than 2^63 values");
  min_ = std::min(min_, least);
  max_ = std::max(max_, greatest);
  sum_ += static_cast<core::Int128>(sum);
  squares_.add(squares);
}

void Moments::merge(const Moments& other) {
  RIDGELINE_CHECK(!__builtin_add_overflow(count_, other.count_, &count_), "more than 2^63 values");
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  squares_ = squares_ + other.squares_;
}

Fingerprint Moments::fingerprint() const {
  return {.count = static_cast<std::uint64_t>(count_),
          .sum = static_cast<std::uint64_t>(sum_),
          .squares = static_cast<std::uint64_t>(squares_.low())};
}

std::int64_t Moments::min() const {
  RIDGELINE_CHECK(count_ >= 1, "the least of nothing");
  return min_;
}

std::int64_t Moments::max() const {
  RIDGELINE_CHECK(count_ >= 1, "the greatest of nothing");
  return max_;
}

double Moments::mean() const {
  RIDGELINE_CHECK(count_ >= 1, "the mean of nothing");
  return static_cast<double>(sum_) / static_cast<double>(count_);
}

double Moments::std_dev() const {
  RIDGELINE_CHECK(count_ >= 1, "the spread of nothing");
  // Around the truncated mean m: sum (x - m)^2 = sum x^2 - 2 m sum x + n m^2, exact mod 2^192 and
  // below that for 2^63 values of 64 bits. What m lacks to the mean is below 1.
  const core::Int128 m = sum_ / count_;
  const Uint192 center = Uint192::of_signed(m);
  const Uint192 around = squares_ - Uint192::of(2) * center * Uint192::of_signed(sum_) +
                         Uint192::of_signed(count_) * center * center;
  const auto n = static_cast<double>(count_);
  const double rest = static_cast<double>(sum_ - m * count_) / n;
  return std::sqrt(std::max(around.to_double() / n - rest * rest, 0.0));
}

}  // namespace ridgeline::statistics

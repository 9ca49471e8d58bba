#include "core/moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/overflow.hpp"

namespace ridgeline::core {
namespace {

/// The sums of i and of i^2 for i = 0 ... n - 1, n < 2^32.
std::int64_t sum_of_indices(std::int64_t n) {
  const auto count = static_cast<std::uint64_t>(n);
  return static_cast<std::int64_t>(count * (count - 1) / 2);
}
Uint128 sum_of_index_squares(std::int64_t n) {
  // (n - 1) n (2n - 1) / 6. Division by 3 leaves no rest and so is multiplication by its inverse
  // mod 2^128.
  constexpr Uint128 kInverseOf3 = ~Uint128{0} / 3 * 2 + 1;
  static_assert(3 * kInverseOf3 == 1);
  return static_cast<Uint128>(sum_of_indices(n)) * static_cast<std::uint64_t>(2 * n - 1) *
         kInverseOf3;
}

}  // namespace

void Moments::add_long(const ArithmeticRun& run) {
  RIDGELINE_CHECK(run.count >= 0 && run.count <= kMostPerRun, "count of an arithmetic run");
  RIDGELINE_CHECK(run.repeat >= 0 && run.repeat <= kMostPerRun, "repeats of an arithmetic run");
  if (run.count == 0 || run.repeat == 0) {
    return;
  }
  const auto span = reach(run.first, run.growth, run.count - 1);
  RIDGELINE_CHECK(span.has_value(), "an arithmetic run leaves the range of int64");
  const std::int64_t last = run.first + *span;
  std::int64_t values = 0;
  RIDGELINE_CHECK(!__builtin_mul_overflow(run.count, run.repeat, &values) &&
                      !__builtin_add_overflow(count_, values, &count_),
                  "more than 2^63 values");
  min_ = std::min({min_, run.first, last});
  max_ = std::max({max_, run.first, last});

  // The values are f + g i for i below n: their sum is n f + g sum(i), that of their squares
  // n f^2 + 2 f g sum(i) + g^2 sum(i^2), which is right mod 2^128.
  const Int128 level = static_cast<Int128>(run.first) * run.count;
  const Int128 slope = static_cast<Int128>(run.growth) * sum_of_indices(run.count);
  const Int128 growth_squared = static_cast<Int128>(run.growth) * run.growth;
  sum_ += (level + slope) * run.repeat;
  squares_ += (static_cast<Uint128>(level + 2 * slope) * static_cast<Uint128>(run.first) +
               static_cast<Uint128>(growth_squared) * sum_of_index_squares(run.count)) *
              static_cast<std::uint64_t>(run.repeat);
}

void Moments::merge(const Moments& other) {
  RIDGELINE_CHECK(!__builtin_add_overflow(count_, other.count_, &count_), "more than 2^63 values");
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  squares_ += other.squares_;
}

Fingerprint Moments::fingerprint() const {
  return {.count = static_cast<std::uint64_t>(count_),
          .sum = static_cast<std::uint64_t>(sum_),
          .squares = static_cast<std::uint64_t>(squares_)};
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
  // Around the truncated mean m: sum (x - m)^2 = sum x^2 - 2 m sum x + n m^2, small and exact mod
  // 2^128. What m lacks to the mean is below 1.
  const Int128 m = sum_ / count_;
  const auto center = static_cast<Uint128>(m);
  const Uint128 around = squares_ - 2 * center * static_cast<Uint128>(sum_) +
                         static_cast<Uint128>(count_) * center * center;
  const auto n = static_cast<double>(count_);
  const double rest = static_cast<double>(sum_ - m * count_) / n;
  return std::sqrt(std::max(static_cast<double>(around) / n - rest * rest, 0.0));
}

}  // namespace ridgeline::core

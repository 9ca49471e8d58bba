#include "core/moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/overflow.hpp"
#include "core/run_columns.hpp"
#include "core/uint192.hpp"

namespace ridgeline::core {

void Moments::add_long(const ArithmeticRun& run) {
  RIDGELINE_CHECK(run.count >= 0 && run.count <= kMostPerRun, "count of an arithmetic run");
  RIDGELINE_CHECK(run.repeat >= 0 && run.repeat <= kMostPerRun, "repeats of an arithmetic run");
  if (run.count == 0 || run.repeat == 0) {
    return;
  }
  RIDGELINE_CHECK(reach(run.first, run.growth, run.count - 1).has_value(),
                  "an arithmetic run leaves the range of int64");
  add_known(run);
}

void Moments::add(std::span<const std::int64_t> values) {
  if (values.empty()) {
    return;
  }
  std::int64_t least = values[0];
  std::int64_t greatest = values[0];
  std::uint64_t sum = 0;
  Uint128 squares = 0;
  for (const std::int64_t value : values) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
    const auto magnitude = static_cast<std::uint64_t>(value);
    sum += magnitude;
    squares += static_cast<Uint128>(magnitude) * magnitude;
  }
  // Short sums fit in 64 bits, if no value is very large.
  constexpr std::size_t kFew = 128;
  constexpr std::int64_t kLarge = std::int64_t{1} << 56;
  if (least < 0 || greatest >= kLarge || values.size() > kFew) [[unlikely]] {
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
  sum_ += static_cast<Int128>(sum);
  squares_.add(squares);
}

/// As add_known() has it, without a branch on what a run is like: nobody could predict it. Two
/// turns, for each of which there are registers.
void Moments::add_short(const RunColumns& runs) {
  std::int64_t values = 0;
  std::int64_t least = min_;
  std::int64_t greatest = max_;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const std::int64_t first = runs.first[i];
    const std::int64_t last = first + runs.growth[i] * (runs.count[i] - 1);
    const std::int64_t low = first < last ? first : last;
    const std::int64_t high = first < last ? last : first;
    least = low < least ? low : least;
    greatest = high > greatest ? high : greatest;
    values += runs.count[i] * runs.repeat[i];
  }
  // So few values of ShortRuns::kValueBits have squares of less than 2^128 together.
  constexpr std::int64_t kFew = std::int64_t{1} << (128 - 2 * ShortRuns::kValueBits);
  if (values > kFew) [[unlikely]] {
    for (std::size_t i = 0; i < runs.size; ++i) {
      add_known({.first = runs.first[i],
                 .growth = runs.growth[i],
                 .count = runs.count[i],
                 .repeat = runs.repeat[i]});
    }
    return;
  }
  RIDGELINE_CHECK(!__builtin_add_overflow(count_, values, &count_), "more than 2^63 values");
  min_ = least;
  max_ = greatest;
  Int128 sum = sum_;
  Uint128 squares = 0;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const std::int64_t first = runs.first[i];
    const std::int64_t growth = runs.growth[i];
    const std::int64_t count = runs.count[i];
    const std::int64_t repeat = runs.repeat[i];
    const std::int64_t indices = sum_of_indices(count);
    const std::uint64_t index_squares = static_cast<std::uint64_t>(indices) *
                                        static_cast<std::uint64_t>(2 * count - 1) * kInverseOf3;
    const std::int64_t slope = growth * indices;
    const std::int64_t run_sum = first * count + slope;
    const std::int64_t doubled = run_sum + slope;
    const Uint128 run_squares =
        static_cast<Uint128>(static_cast<Int128>(doubled) * first) +
        static_cast<Uint128>(static_cast<std::uint64_t>(growth * growth)) * index_squares;
    sum += static_cast<Int128>(run_sum) * repeat;
    squares += run_squares * static_cast<std::uint64_t>(repeat);
  }
  sum_ = sum;
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
  const Int128 m = sum_ / count_;
  const Uint192 center = Uint192::of_signed(m);
  const Uint192 around = squares_ - Uint192::of(2) * center * Uint192::of_signed(sum_) +
                         Uint192::of_signed(count_) * center * center;
  const auto n = static_cast<double>(count_);
  const double rest = static_cast<double>(sum_ - m * count_) / n;
  return std::sqrt(std::max(around.to_double() / n - rest * rest, 0.0));
}

}  // namespace ridgeline::core

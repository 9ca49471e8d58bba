#include "core/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/int128.hpp"

namespace ridgeline::core {
namespace {

constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();

/// high - low, which may exceed int64; low <= high.
std::uint64_t distance(std::int64_t low, std::int64_t high) {
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}

/// growth * steps, if that and its negative fit in int64 and so does `first` plus it.
std::optional<std::int64_t> reach(std::int64_t first, std::int64_t growth, std::int64_t steps) {
  std::int64_t product = 0;
  std::int64_t last = 0;
  if (__builtin_mul_overflow(growth, steps, &product) ||
      __builtin_add_overflow(first, product, &last) ||
      std::min(growth, product) == std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  return product;
}

/// 0 + 1 + ... + (n - 1) and 0 + 1 + ... + (n - 1)^2 for n < 2^32.
std::uint64_t sum_of_indices(std::uint64_t n) {
  return n * (n - 1) / 2;
}
Uint128 sum_of_index_squares(std::uint64_t n) {
  // (n - 1) n (2n - 1) / 6: either n (n - 1) or 2n - 1 is a multiple of 3, which spares a 128-bit
  // division.
  const std::uint64_t indices = sum_of_indices(n);
  const std::uint64_t odd = 2 * n - 1;
  return indices % 3 == 0 ? static_cast<Uint128>(indices / 3) * odd
                          : static_cast<Uint128>(indices) * (odd / 3);
}

}  // namespace

QuantilePosition quantile_position(std::int64_t count, double p) {
  RIDGELINE_CHECK(count >= 1, "a quantile of nothing");
  RIDGELINE_CHECK(p >= 0.0 && p <= 1.0, "probability of a quantile");
  const double position = static_cast<double>(count - 1) * p;
  const double whole = std::floor(position);
  const auto index = static_cast<std::int64_t>(whole);
  if (index >= count - 1) {
    return {.index = count - 1, .fraction = 0.0};
  }
  return {.index = index, .fraction = position - whole};
}

double interpolate(std::int64_t low, std::int64_t high, double fraction) {
  return static_cast<double>(low) + static_cast<double>(distance(low, high)) * fraction;
}

std::vector<double> quantiles(std::span<std::int64_t> values,
                              std::span<const double> probabilities) {
  for (const double p : probabilities) {
    RIDGELINE_CHECK(p >= 0.0 && p <= 1.0, "probability of a quantile");
  }
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return probabilities[a] < probabilities[b];
  });

  std::vector<double> results(probabilities.size());
  auto unsorted = values.begin();  // Everything before is not above anything from here on.
  for (const std::size_t which : order) {
    const auto at =
        quantile_position(static_cast<std::int64_t>(values.size()), probabilities[which]);
    const auto place = values.begin() + at.index;
    std::nth_element(unsorted, place, values.end());
    unsorted = place;
    const std::int64_t next =
        at.fraction > 0.0 ? *std::min_element(place + 1, values.end()) : *place;
    results[which] = interpolate(*place, next, at.fraction);
  }
  return results;
}

double quantile(std::span<std::int64_t> values, double p) {
  return quantiles(values, std::span(&p, 1)).front();
}

void Moments::add(const ArithmeticRun& run) {
  RIDGELINE_CHECK(run.count >= 0 && run.count <= kMostPerRun, "count of an arithmetic run");
  RIDGELINE_CHECK(run.repeat >= 0 && run.repeat <= kMostPerRun, "repeats of an arithmetic run");
  if (run.count == 0 || run.repeat == 0) {
    return;
  }
  const auto span = reach(run.first, run.growth, run.count - 1);
  RIDGELINE_CHECK(span.has_value(), "an arithmetic run leaves the range of int64");
  const std::int64_t last = run.first + *span;
  RIDGELINE_CHECK(!__builtin_add_overflow(count_, run.count * run.repeat, &count_),
                  "more than 2^63 values");
  min_ = std::min({min_, run.first, last});
  max_ = std::max({max_, run.first, last});

  // With n values from f on: sum = n f + g sum(i), squares = n f^2 + 2 f g sum(i) + g^2 sum(i^2),
  // right mod 2^128.
  const auto n = static_cast<std::uint64_t>(run.count);
  const auto f = static_cast<Uint128>(run.first);
  Uint128 sum = n * f;
  Uint128 squares = n * f * f;
  if (run.growth != 0) {
    const auto g = static_cast<Uint128>(run.growth);
    const Uint128 of_indices = g * sum_of_indices(n);
    sum += of_indices;
    squares += 2 * f * of_indices + g * g * sum_of_index_squares(n);
  }
  const auto repeat = static_cast<std::uint64_t>(run.repeat);
  sum_ += static_cast<Int128>(repeat * sum);
  squares_ += repeat * squares;
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

bool RunMultiset::join(const Run& next) {
  Run& last = runs_.back();
  if (last.growth == 0 && next.growth == 0 && last.first == next.first && last.count == 1 &&
      next.count == 1) {
    const std::uint64_t repeat = std::uint64_t{last.repeat} + next.repeat;
    if (repeat <= static_cast<std::uint64_t>(kMostPerRun)) {
      last.repeat = static_cast<std::uint32_t>(repeat);
      return true;
    }
    return false;
  }
  const std::uint64_t count = std::uint64_t{last.count} + next.count;
  if (last.repeat != next.repeat || count > static_cast<std::uint64_t>(kMostPerRun)) {
    return false;
  }
  // One value alone has any growth.
  std::int64_t growth = last.growth;
  if (last.count == 1 && __builtin_sub_overflow(next.first, last.first, &growth)) {
    return false;
  }
  if (growth == 0 || (next.count > 1 && next.growth != growth)) {
    return false;
  }
  const auto to_next = reach(last.first, growth, last.count);
  if (!to_next || last.first + *to_next != next.first ||
      !reach(last.first, growth, static_cast<std::int64_t>(count) - 1)) {
    return false;
  }
  last.growth = growth;
  last.count = static_cast<std::uint32_t>(count);
  return true;
}

void RunMultiset::add(std::int64_t first,
                      std::int64_t growth,
                      std::int64_t count,
                      std::int64_t repeat) {
  moments_.add({.first = first, .growth = growth, .count = count, .repeat = repeat});
  if (count == 0 || repeat == 0) {
    return;
  }
  Run run{.first = first,
          .growth = count == 1 ? 0 : growth,
          .count = static_cast<std::uint32_t>(count),
          .repeat = static_cast<std::uint32_t>(repeat)};
  if (run.growth == 0 && count * repeat <= kMostPerRun) {
    run.repeat *= run.count;
    run.count = 1;
  }
  if (runs_.empty() || !join(run)) {
    runs_.push_back(run);
  }
}

void RunMultiset::merge(const RunMultiset& other) {
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
  moments_.merge(other.moments_);
}

/// Finds one order statistic by narrowing a bracket of values [low_, high_] that holds it. The runs
/// are cut to the bracket as it shrinks (Floyd and Rivest's selection, on runs instead of values).
class RunMultiset::Selection {
 public:
  Selection(std::span<const Run> runs, const Moments& moments, std::int64_t index)
      : source_(runs),
        low_(moments.min()),
        high_(moments.max()),
        inside_(moments.count()),
        rank_(index) {}

  std::int64_t find() {
    bool halve = false;
    while (low_ < high_) {
      const std::int64_t before = inside_;
      Pivots pivots = halve ? middle() : sampled();
      narrow(pivots);
      // Whatever the values, every other round at least halves the bracket.
      halve = !halve && inside_ > before / 2;
    }
    return low_;
  }

 private:
  struct Pivots {
    std::int64_t lower = 0;  ///< low_ <= lower <= upper < high_.
    std::int64_t upper = 0;
  };
  struct Sample {
    std::int64_t value = 0;
    double weight = 0.0;
  };

  [[nodiscard]] Pivots middle() const {
    const auto half = static_cast<std::int64_t>(distance(low_, high_) / 2);
    return {.lower = low_ + half, .upper = low_ + half};
  }

  /// Two values that are likely to stand just below and above the one sought.
  [[nodiscard]] Pivots sampled();
  /// Counts the values up to each pivot and keeps the part that holds the one sought.
  void narrow(Pivots pivots);
  void cut_to_bracket();

  std::span<const Run> source_;
  std::int64_t low_;
  std::int64_t high_;
  std::int64_t inside_;  ///< Values in the bracket.
  std::int64_t rank_;    ///< Of the value sought, among those.
  std::vector<Run> kept_;
  std::vector<Sample> samples_;
};

namespace {

/// The same values from the smallest up.
template <class Run>
Run ascending(Run run) {
  if (run.growth < 0) {
    run.first += run.growth * (static_cast<std::int64_t>(run.count) - 1);
    run.growth = -run.growth;
  }
  return run;
}

/// Of an ascending run: its last value.
template <class Run>
std::int64_t last_of(const Run& run) {
  return run.first + run.growth * (static_cast<std::int64_t>(run.count) - 1);
}

/// How many of the `count` values of an ascending run are at most `value`, repeats apart.
template <class Run>
std::uint32_t count_up_to(const Run& run, std::int64_t value) {
  if (value < run.first) {
    return 0;
  }
  if (value >= last_of(run)) {
    return run.count;
  }
  return static_cast<std::uint32_t>(distance(run.first, value) /
                                    static_cast<std::uint64_t>(run.growth)) +
         1;
}

}  // namespace

RunMultiset::Selection::Pivots RunMultiset::Selection::sampled() {
  constexpr std::size_t kSampledRuns = 512;
  constexpr double kMargin =
      0.06;  // Share of the weight; above the sampling error of 512 runs, 1/sqrt(512).
  const std::size_t stride = (source_.size() + kSampledRuns - 1) / kSampledRuns;
  samples_.clear();
  double total = 0.0;
  for (std::size_t i = 0; i < source_.size(); i += stride) {
    const Run run = ascending(source_[i]);
    const double weight = static_cast<double>(run.count) * run.repeat;
    for (const std::int64_t value :
         {run.first, run.first + run.growth * (run.count / 2), last_of(run)}) {
      samples_.push_back({.value = value, .weight = weight});
      total += weight;
    }
  }
  std::sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return a.value < b.value;
  });

  const double sought = (static_cast<double>(rank_) + 0.5) / static_cast<double>(inside_);
  const auto value_at = [&](double share) {
    double sum = 0.0;
    for (const Sample& sample : samples_) {
      sum += sample.weight;
      if (sum > share * total) {
        return std::clamp(sample.value, low_, high_ - 1);
      }
    }
    return high_ - 1;
  };
  // A pivot keeps the values up to it, so the lower one stands just below.
  const std::int64_t lower = value_at(sought - kMargin);
  return {.lower = lower > low_ ? lower - 1 : lower, .upper = value_at(sought + kMargin)};
}

void RunMultiset::Selection::narrow(Pivots pivots) {
  std::int64_t up_to_lower = 0;
  std::int64_t up_to_upper = 0;
  for (const Run& any : source_) {
    const Run run = ascending(any);
    up_to_lower += std::int64_t{count_up_to(run, pivots.lower)} * run.repeat;
    up_to_upper += std::int64_t{count_up_to(run, pivots.upper)} * run.repeat;
  }
  if (rank_ < up_to_lower) {
    high_ = pivots.lower;
    inside_ = up_to_lower;
  } else if (rank_ < up_to_upper) {
    low_ = pivots.lower + 1;
    high_ = pivots.upper;
    inside_ = up_to_upper - up_to_lower;
    rank_ -= up_to_lower;
  } else {
    low_ = pivots.upper + 1;
    inside_ -= up_to_upper;
    rank_ -= up_to_upper;
  }
  cut_to_bracket();
}

void RunMultiset::Selection::cut_to_bracket() {
  // In place from the second round on: the write position never overtakes the read position.
  std::size_t kept = 0;
  const bool first_round = source_.data() != kept_.data();
  for (const Run& any : source_) {
    Run run = ascending(any);
    const std::uint32_t end = count_up_to(run, high_);
    const std::uint32_t begin = low_ > run.first ? count_up_to(run, low_ - 1) : 0;
    if (begin >= end) {
      continue;
    }
    run.first += run.growth * begin;
    run.count = end - begin;
    if (first_round) {
      kept_.push_back(run);
    } else {
      kept_[kept++] = run;
    }
  }
  if (!first_round) {
    kept_.resize(kept);
  }
  source_ = kept_;
}

std::int64_t RunMultiset::order_statistic(std::int64_t index) const {
  RIDGELINE_CHECK(index >= 0 && index < count(), "index of an order statistic");
  return Selection(runs_, moments_, index).find();
}

double RunMultiset::quantile(double p) const {
  const auto at = quantile_position(count(), p);
  const std::int64_t low = order_statistic(at.index);
  if (at.fraction == 0.0) {
    return static_cast<double>(low);
  }
  // The next value in order: the same again, or the least above it.
  std::int64_t up_to_low = 0;
  std::int64_t above = std::numeric_limits<std::int64_t>::max();
  for (const Run& any : runs_) {
    const Run run = ascending(any);
    const std::uint32_t not_above = count_up_to(run, low);
    up_to_low += std::int64_t{not_above} * run.repeat;
    if (not_above < run.count) {
      above = std::min(above, run.first + run.growth * not_above);
    }
  }
  return interpolate(low, at.index + 1 < up_to_low ? low : above, at.fraction);
}

std::vector<double> RunMultiset::quantiles(std::span<const double> probabilities) const {
  std::vector<double> results;
  results.reserve(probabilities.size());
  for (const double p : probabilities) {
    results.push_back(quantile(p));
  }
  return results;
}

}  // namespace ridgeline::core

#include "core/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/int128.hpp"

namespace ridgeline::core {
namespace {

/// Repeats below this share a number with the count: those of most batches.
constexpr std::int64_t kSmallRepeat = 1024;
constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();

/// high - low, which may exceed int64; low <= high.
std::uint64_t distance(std::int64_t low, std::int64_t high) {
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}

/// low + offset, which int64 holds although the offset may exceed it.
std::int64_t shifted(std::int64_t low, std::uint64_t offset) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
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
  if (run.count == 1) {
    // The commonest run by far: one step's gap.
    RIDGELINE_CHECK(!__builtin_add_overflow(count_, run.repeat, &count_), "more than 2^63 values");
    min_ = std::min(min_, run.first);
    max_ = std::max(max_, run.first);
    const Int128 sum = static_cast<Int128>(run.first) * run.repeat;
    sum_ += sum;
    squares_ += static_cast<Uint128>(sum) * static_cast<Uint128>(static_cast<Int128>(run.first));
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

bool RunMultiset::join(const Run& next) {
  Run& last = last_;
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
  if (num_runs_ == 0 || !join(run)) {
    append(run);
  }
}

void RunMultiset::append(const Run& run) {
  if (num_runs_ > 0) {
    // The distance may wrap around; adding it up again wraps back.
    packed_.add(static_cast<std::int64_t>(distance(packed_first_, last_.first)));
    packed_.add(last_.growth);
    if (last_.repeat < kSmallRepeat) {
      packed_.add(static_cast<std::int64_t>(last_.count) * kSmallRepeat + last_.repeat);
    } else {
      packed_.add(-static_cast<std::int64_t>(last_.count));
      packed_.add(last_.repeat);
    }
    packed_first_ = last_.first;
    num_points_ += last_.count;
  }
  last_ = run;
  ++num_runs_;
}

/// The runs in the order in which they were added.
struct RunMultiset::AllRuns {
  const RunMultiset& set;

  [[nodiscard]] std::size_t size() const { return set.num_runs_; }
  [[nodiscard]] std::uint64_t points() const { return set.num_points_ + set.last_.count; }
  [[nodiscard]] std::int64_t total() const { return set.count(); }
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    PackedIntegers::Reader reader(set.packed_);
    Run run;
    for (std::size_t i = 1; i < set.num_runs_; ++i) {
      run.first = shifted(run.first, static_cast<std::uint64_t>(reader.next()));
      run.growth = reader.next();
      const std::int64_t code = reader.next();
      run.count = static_cast<std::uint32_t>(code < 0 ? -code : code / kSmallRepeat);
      run.repeat = static_cast<std::uint32_t>(code < 0 ? reader.next() : code % kSmallRepeat);
      visit(run);
    }
    if (set.num_runs_ > 0) {
      visit(set.last_);
    }
  }
};

void RunMultiset::merge(const RunMultiset& other) {
  AllRuns{other}.for_each([this](const Run& run) { append(run); });
  moments_.merge(other.moments_);
}

/// Finds order statistics by narrowing: cuts the range where a sample says that they must lie,
/// counts the values between the cuts, keeps the parts of the runs where the statistics are, and
/// does so again within those. The sample decides how fast that is, never the answer: a rank is
/// looked for wherever the counts put it. A run costs one division per cut inside it.
class RunMultiset::Selection {
 public:
  /// Some of the runs.
  struct Part {
    const std::vector<Run>& runs;

    [[nodiscard]] std::size_t size() const { return runs.size(); }
    [[nodiscard]] std::uint64_t points() const {
      std::uint64_t sum = 0;
      for_each([&](const Run& run) { sum += run.count; });
      return sum;
    }
    [[nodiscard]] std::int64_t total() const {
      std::int64_t sum = 0;
      for_each([&](const Run& run) { sum += std::int64_t{run.count} * run.repeat; });
      return sum;
    }
    template <class Visitor>
    void for_each(Visitor&& visit) const {
      for (const Run& run : runs) {
        visit(run);
      }
    }
  };

  /// `ranks` ascend; `answers` has their size. All values lie in low .. high.
  template <class Runs>
  static void solve(const Runs& runs,
                    std::int64_t low,
                    std::int64_t high,
                    std::span<const std::int64_t> ranks,
                    std::span<std::int64_t> answers) {
    if (low == high) {
      std::fill(answers.begin(), answers.end(), low);
      return;
    }
    if (runs.points() <= kFewPoints) {
      solve_by_sorting(runs, ranks, answers);
    } else {
      solve_by_bucket(runs, low, high, ranks, answers);
    }
  }

 private:
  using Cuts = std::vector<std::int64_t>;  ///< Each the least value of the next bucket, ascending.

  /// Ranks that fall into one bucket.
  struct Group {
    std::size_t bucket = 0;
    std::vector<std::int64_t> ranks;  ///< Within the bucket.
    std::size_t first_answer = 0;
    std::vector<Run> parts;
  };
  static constexpr std::uint64_t kFewPoints =
      1024;  ///< Sorting these costs less than another round.

  /// The same values from the smallest up.
  static Run ascending(Run run) {
    if (run.growth < 0) {
      run.first += run.growth * (std::int64_t{run.count} - 1);
      run.growth = -run.growth;
    }
    return run;
  }

  static std::size_t bucket_of(std::int64_t value, const Cuts& cuts) {
    std::size_t bucket = 0;
    for (const std::int64_t cut : cuts) {
      bucket += cut <= value ? 1U : 0U;
    }
    return bucket;
  }

  /// Calls visit(bucket, part) for the parts of a run that lie in one bucket each.
  template <class Visitor>
  static void for_each_part(const Run& run, const Cuts& cuts, Visitor&& visit) {
    Run part = ascending(run);
    const std::size_t last_bucket =
        bucket_of(part.first + part.growth * (std::int64_t{part.count} - 1), cuts);
    for (std::uint32_t left = part.count;;
         left -= part.count, part.first += part.growth * part.count) {
      const std::size_t bucket = bucket_of(part.first, cuts);
      part.count = left;
      if (bucket == last_bucket) {
        visit(bucket, part);
        return;
      }
      const std::uint64_t steps =
          (distance(part.first, cuts[bucket]) - 1) / static_cast<std::uint64_t>(part.growth);
      part.count = static_cast<std::uint32_t>(steps + 1);
      visit(bucket, part);
    }
  }

  template <class Runs>
  static Cuts choose_cuts(const Runs& runs,
                          std::int64_t low,
                          std::int64_t high,
                          std::span<const std::int64_t> ranks);
  template <class Runs>
  static void solve_by_sorting(const Runs& runs,
                               std::span<const std::int64_t> ranks,
                               std::span<std::int64_t> answers);
  template <class Runs>
  static void solve_by_bucket(const Runs& runs,
                              std::int64_t low,
                              std::int64_t high,
                              std::span<const std::int64_t> ranks,
                              std::span<std::int64_t> answers);
};

template <class Runs>
void RunMultiset::Selection::solve_by_sorting(const Runs& runs,
                                              std::span<const std::int64_t> ranks,
                                              std::span<std::int64_t> answers) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> values;
  runs.for_each([&](const Run& run) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      values.emplace_back(run.first + run.growth * i, run.repeat);
    }
  });
  std::sort(values.begin(), values.end());
  std::size_t at = 0;
  std::int64_t up_to_here = values[0].second;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    while (up_to_here <= ranks[i]) {
      up_to_here += values[++at].second;
    }
    answers[i] = values[at].first;
  }
}

/// Every n-th value, sorted, shows about where each rank is. At least one cut, all of them above
/// `low` and none above `high`, so that each bucket is smaller than the whole.
template <class Runs>
RunMultiset::Selection::Cuts RunMultiset::Selection::choose_cuts(
    const Runs& runs, std::int64_t low, std::int64_t high, std::span<const std::int64_t> ranks) {
  constexpr std::size_t kLeastSample = 64;
  constexpr std::size_t kGreatestSample = 4096;
  constexpr std::size_t kRunsPerSample = 8;
  constexpr double kDeviations = 3.0;  // that a rank is allowed from where the sample has it
  const std::int64_t total = runs.total();
  const auto wanted = static_cast<std::int64_t>(
      std::clamp(runs.size() / kRunsPerSample, kLeastSample, kGreatestSample));
  const std::int64_t stride = std::max<std::int64_t>(total / wanted, 1);
  std::vector<std::int64_t> sample;
  std::int64_t before = 0;
  std::int64_t next = stride / 2;
  runs.for_each([&](const Run& run) {
    const std::int64_t after = before + std::int64_t{run.count} * run.repeat;
    for (; next < after; next += stride) {
      sample.push_back(run.first + run.growth * ((next - before) / run.repeat));
    }
    before = after;
  });
  std::sort(sample.begin(), sample.end());

  Cuts cuts;
  const auto size = static_cast<double>(sample.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0 && ranks[i] == ranks[i - 1] + 1) {
      continue;  // Neighbours are sought between the same cuts.
    }
    const double place = size * static_cast<double>(ranks[i]) / static_cast<double>(total);
    const double below = place - kDeviations * std::sqrt(size);
    const double above = place + kDeviations * std::sqrt(size);
    if (below >= 0.0) {
      cuts.push_back(sample[static_cast<std::size_t>(below)]);
    }
    if (above < size) {
      cuts.push_back(sample[static_cast<std::size_t>(above)] + 1);
    }
  }
  std::erase_if(cuts, [&](std::int64_t cut) { return cut <= low || cut > high; });
  if (cuts.empty()) {
    cuts.push_back(shifted(low, distance(low, high) / 2) + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

template <class Runs>
void RunMultiset::Selection::solve_by_bucket(const Runs& runs,
                                             std::int64_t low,
                                             std::int64_t high,
                                             std::span<const std::int64_t> ranks,
                                             std::span<std::int64_t> answers) {
  const Cuts cuts = choose_cuts(runs, low, high, ranks);
  const std::size_t num_buckets = cuts.size() + 1;
  std::vector<std::int64_t> counts(num_buckets);
  runs.for_each([&](const Run& run) {
    for_each_part(run, cuts, [&](std::size_t bucket, const Run& part) {
      counts[bucket] += std::int64_t{part.count} * part.repeat;
    });
  });

  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> group_of(num_buckets, kNone);
  std::vector<Group> groups;
  std::size_t bucket = 0;
  std::int64_t below = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    while (below + counts[bucket] <= ranks[i]) {
      below += counts[bucket++];
    }
    if (group_of[bucket] == kNone) {
      group_of[bucket] = groups.size();
      groups.push_back({.bucket = bucket, .ranks = {}, .first_answer = i, .parts = {}});
    }
    groups.back().ranks.push_back(ranks[i] - below);
  }

  runs.for_each([&](const Run& run) {
    for_each_part(run, cuts, [&](std::size_t of_part, const Run& part) {
      if (group_of[of_part] != kNone) {
        groups[group_of[of_part]].parts.push_back(part);
      }
    });
  });
  for (const Group& group : groups) {
    solve(Part{group.parts},
          group.bucket == 0 ? low : cuts[group.bucket - 1],
          group.bucket == cuts.size() ? high : cuts[group.bucket] - 1,
          group.ranks,
          answers.subspan(group.first_answer, group.ranks.size()));
  }
}

std::int64_t RunMultiset::order_statistic(std::int64_t index) const {
  RIDGELINE_CHECK(index >= 0 && index < count(), "index of an order statistic");
  std::int64_t answer = 0;
  Selection::solve(
      AllRuns{*this}, moments_.min(), moments_.max(), std::span(&index, 1), std::span(&answer, 1));
  return answer;
}

std::vector<double> RunMultiset::quantiles(std::span<const double> probabilities) const {
  std::vector<QuantilePosition> positions;
  std::vector<std::int64_t> ranks;
  for (const double p : probabilities) {
    const auto at = positions.emplace_back(quantile_position(count(), p));
    ranks.push_back(at.index);
    ranks.push_back(at.fraction > 0.0 ? at.index + 1 : at.index);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::int64_t> values(ranks.size());
  Selection::solve(AllRuns{*this}, moments_.min(), moments_.max(), ranks, values);

  const auto value_at = [&](std::int64_t rank) {
    return values[static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                                           ranks.begin())];
  };
  std::vector<double> results;
  results.reserve(positions.size());
  for (const auto& at : positions) {
    const std::int64_t low = value_at(at.index);
    results.push_back(
        interpolate(low, at.fraction > 0.0 ? value_at(at.index + 1) : low, at.fraction));
  }
  return results;
}

double RunMultiset::quantile(double p) const {
  return quantiles(std::span(&p, 1)).front();
}

}  // namespace ridgeline::core

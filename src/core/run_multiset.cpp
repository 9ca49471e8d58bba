#include "core/run_multiset.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/overflow.hpp"
#include "core/quantiles.hpp"

namespace ridgeline::core {
namespace {

/// Values kept as a sample before every second is dropped; even.
constexpr std::size_t kMostSampled = 16384;

}  // namespace

void RunMultiset::add_any(std::int64_t first,
                          std::int64_t growth,
                          std::int64_t count,
                          std::int64_t repeat) {
  RIDGELINE_CHECK(count >= 0 && count <= kMostPerRun, "count of an arithmetic run");
  RIDGELINE_CHECK(repeat >= 0 && repeat <= kMostPerRun, "repeats of an arithmetic run");
  if (count == 0 || repeat == 0) {
    return;
  }
  RIDGELINE_CHECK(reach(first, growth, count - 1).has_value(),
                  "an arithmetic run leaves the range of int64");
  if (pending_.full()) {
    take_pending();
  }
  any_is_long_ = true;
  pending_.add(first, count == 1 ? 0 : growth, count, repeat);
}

/// Adds those that are not short by themselves, and leaves the others.
void RunMultiset::take_long_out(RunColumns& runs) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const std::int64_t first = runs.first[i];
    const std::int64_t growth = runs.growth[i];
    const std::int64_t count = runs.count[i];
    const std::int64_t repeat = runs.repeat[i];
    if (ShortRuns::is_run(first, growth, count, repeat)) {
      runs.put_at(kept++, first, growth, count, repeat);
    } else {
      add_any(first, growth, count, repeat);
    }
  }
  runs.size = kept;
}

void RunMultiset::add_and_spoil(RunColumns& runs) {
  if (!ShortRuns::are_runs(runs)) [[unlikely]] {
    take_long_out(runs);
  }
  // Those that are closed are put where others stood before.
  std::size_t closed = 0;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const std::int64_t first = runs.first[i];
    const std::int64_t growth = runs.growth[i];
    const std::int64_t count = runs.count[i];
    const std::int64_t repeat = runs.repeat[i];
    if (may_join(first, repeat) && join_any(first, growth, count)) {
      continue;
    }
    runs.put_at(closed, open_.first, open_.growth, open_.count, open_.repeat);
    closed += open_.repeat > 0 ? 1 : 0;
    open(first, growth, count, repeat);
  }
  runs.size = closed;
  take(runs);
}

void RunMultiset::sum_up(const RunColumns& runs, Moments& moments) const {
  if (!any_is_long_) [[likely]] {
    moments.add_short(runs);
    return;
  }
  for (std::size_t i = 0; i < runs.size; ++i) {
    moments.add({.first = runs.first[i],
                 .growth = runs.growth[i],
                 .count = runs.count[i],
                 .repeat = runs.repeat[i]});
  }
}

template <class Visitor>
void RunMultiset::for_each_unpacked(Visitor&& visit) const {
  repeated_.for_each_block(visit);
  visit(pending_);
  if (open_.repeat > 0) {
    RunColumns one;
    one.add(open_.first, open_.growth, open_.count, open_.repeat);
    visit(static_cast<const RunColumns&>(one));
  }
}

Moments RunMultiset::moments() const {
  Moments moments = moments_;
  for_each_unpacked([&](const RunColumns& runs) { sum_up(runs, moments); });
  return moments;
}

void RunMultiset::take_pending() {
  if (any_is_long_) [[unlikely]] {
    take_sample(pending_);
    sum_up(pending_, moments_);
    packed_.add(pending_);
  } else {
    take(pending_);
  }
  pending_.size = 0;
  any_is_long_ = false;
}

/// Takes in some short runs.
void RunMultiset::take(const RunColumns& runs) {
  take_sample(runs);
  if (!repeated_.is_on()) [[likely]] {
    pack(runs);
    return;
  }
  RunColumns others;
  repeated_.exchange(runs, others);
  pack(others);
}

void RunMultiset::pack(const RunColumns& runs) {
  if (runs.size > 0) {
    moments_.add_short(runs);
    packed_.add(runs);
  }
}

/// The values that are due.
void RunMultiset::take_sample(const RunColumns& runs) {
  std::int64_t before = num_taken_;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const Run run = runs.at(i);
    const std::int64_t after = before + run.values();
    while (next_sampled_ < after) [[unlikely]] {
      const std::int64_t steps = run.growth == 0 ? 0 : (next_sampled_ - before) / run.repeat;
      sample_.push_back(run.first + run.growth * steps);
      next_sampled_ += stride_;
      if (sample_.size() == kMostSampled) {
        for (std::size_t kept = 0; kept < kMostSampled / 2; ++kept) {
          sample_[kept] = sample_[2 * kept + 1];
        }
        sample_.resize(kMostSampled / 2);
        next_sampled_ += stride_;
        stride_ *= 2;
      }
    }
    before = after;
  }
  num_taken_ = before;
}

/// All runs, in no order.
struct RunMultiset::AllRuns {
  const RunMultiset& set;

  [[nodiscard]] std::size_t size() const { return set.num_runs(); }
  [[nodiscard]] std::int64_t total() const { return set.count(); }
  /// In no order, of at least one value.
  [[nodiscard]] std::vector<std::int64_t> sample() const {
    return set.sample_.empty() ? std::vector{set.moments().min()} : set.sample_;
  }
  /// Calls visit(runs) for some after some.
  template <class Visitor>
  void for_each_block(Visitor&& visit) const {
    set.packed_.for_each_block(visit);
    set.for_each_unpacked(visit);
  }
};

/// Finds order statistics by narrowing: cuts the range where a sample says that they must lie,
/// counts the values between the cuts, keeps the parts of the runs where the statistics are, and
/// does so again within those. The sample decides how fast that is, never the answer: a rank is
/// looked for wherever the counts put it. A run costs one division per cut inside it.
class RunMultiset::Selection {
  /// Parts of runs, packed like those of the set: there are millions at once.
  class Parts {
   public:
    void add(const Run& run) {
      total_ += run.values();
      last_.add(run.first, run.growth, run.count, run.repeat);
      if (last_.full()) {
        packed_.add(last_);
        last_.size = 0;
      }
    }

    [[nodiscard]] std::size_t size() const { return packed_.size() + last_.size; }
    [[nodiscard]] std::int64_t total() const { return total_; }
    /// Every n-th value.
    [[nodiscard]] std::vector<std::int64_t> sample() const;
    template <class Visitor>
    void for_each_block(Visitor&& visit) const {
      packed_.for_each_block(visit);
      visit(last_);
    }

   private:
    PackedRuns packed_;
    RunColumns last_;  ///< Not packed yet.
    std::int64_t total_ = 0;
  };

 public:
  /// `ranks` ascend; `answers` has their size. All values lie in low .. high.
  template <class Some>
  static void solve(const Some& runs,
                    std::int64_t low,
                    std::int64_t high,
                    std::span<const std::int64_t> ranks,
                    std::span<std::int64_t> answers) {
    if (low == high) {
      std::fill(answers.begin(), answers.end(), low);
      return;
    }
    if (has_few_points(runs)) {
      solve_by_sorting(runs, ranks, answers);
    } else {
      solve_by_bucket(runs, low, high, ranks, answers);
    }
  }

 private:
  /// Some values in ascending order, side by side with what was found of them.
  struct Bucket {
    std::int64_t low = 0;
    std::int64_t high = 0;  ///< Inclusive.
    bool wanted = false;    ///< A rank should be in here: its parts are kept.
    std::int64_t count = 0;
    Parts parts;
  };
  using Buckets = std::vector<Bucket>;
  static constexpr std::int64_t kFewPoints =
      1024;  ///< Sorting these costs less than another round.

  /// Looks at no more than it has to.
  template <class Some>
  static bool has_few_points(const Some& runs) {
    if (runs.size() > static_cast<std::size_t>(kFewPoints)) {
      return false;
    }
    std::int64_t points = 0;
    runs.for_each_block([&](const RunColumns& block) {
      points = std::accumulate(block.count.begin(),
                               block.count.begin() + static_cast<std::ptrdiff_t>(block.size),
                               points);
    });
    return points <= kFewPoints;
  }

  /// The same values from the smallest up.
  static Run ascending(Run run) {
    if (run.growth < 0) {
      run.first += run.growth * (std::int64_t{run.count} - 1);
      run.growth = -run.growth;
    }
    return run;
  }

  /// Division of whole numbers, by one of doubles where both are below 2^52, which takes a third of
  /// the time: what the quotient lacks to the next whole number is 1 / divisor at least, more than
  /// it is rounded by.
  static std::uint64_t quotient(std::uint64_t dividend, std::uint64_t divisor) {
    constexpr int kExactBits = 52;
    if ((dividend | divisor) >> kExactBits != 0) [[unlikely]] {
      return dividend / divisor;
    }
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(dividend)) /
                                  static_cast<double>(static_cast<std::int64_t>(divisor))));
  }

  /// Calls visit(bucket, part) for the parts of a run that lie in one bucket each, from the one
  /// where its least value is.
  template <class Visitor>
  static void for_each_part(const Run& run, Bucket* bucket, Visitor&& visit) {
    Run part = ascending(run);
    const std::int64_t end = part.first + part.growth * (std::int64_t{part.count} - 1);
    for (std::uint32_t left = run.count;; ++bucket) {
      part.count = left;
      if (end <= bucket->high) {
        visit(*bucket, part);
        return;
      }
      if (part.first > bucket->high) {
        continue;
      }
      const std::uint64_t steps =
          quotient(distance(part.first, bucket->high), static_cast<std::uint64_t>(part.growth));
      part.count = static_cast<std::uint32_t>(steps + 1);
      visit(*bucket, part);
      left -= part.count;
      part.first += part.growth * part.count;
    }
  }

  /// Counts all values by bucket, and keeps the parts of the runs in those that are wanted. Most
  /// runs lie whole in a bucket that is not: those need no branch.
  template <class Some>
  static void count_and_keep(const Some& runs, Buckets& buckets) {
    std::vector<std::int64_t> lows;
    std::vector<std::int64_t> highs;
    std::vector<std::uint8_t> wanted;
    std::vector<std::int64_t> counts(buckets.size());
    for (const Bucket& bucket : buckets) {
      lows.push_back(bucket.low);
      highs.push_back(bucket.high);
      wanted.push_back(bucket.wanted ? 1 : 0);
    }
    // Beyond all values but the greatest there is, which is in the last bucket before.
    const std::size_t last_bucket = buckets.size() - 1;
    lows.resize(std::bit_ceil(std::max(lows.size(), kUsualBuckets)),
                std::numeric_limits<std::int64_t>::max());
    runs.for_each_block([&](const RunColumns& block) {
      std::array<std::uint8_t, RunColumns::kMost> others;
      std::array<std::uint8_t, RunColumns::kMost> buckets_of;
      std::size_t num_others = 0;
      for (std::size_t i = 0; i < block.size; ++i) {
        const std::int64_t first = block.first[i];
        const std::int64_t last = first + block.growth[i] * (block.count[i] - 1);
        const std::int64_t least = std::min(first, last);
        const std::size_t at = std::min(bucket_of(least, lows), last_bucket);
        const bool whole = std::max(first, last) <= highs[at];
        counts[at] += whole ? block.count[i] * block.repeat[i] : 0;
        buckets_of[i] = static_cast<std::uint8_t>(at);
        others[num_others] = static_cast<std::uint8_t>(i);
        num_others += whole ? wanted[at] : 1U;
      }
      for (std::size_t k = 0; k < num_others; ++k) {
        const std::size_t i = others[k];
        for_each_part(block.at(i), &buckets[buckets_of[i]], [](Bucket& bucket, const Run& part) {
          bucket.count += part.values();
          if (bucket.wanted) {
            bucket.parts.add(part);
          }
        });
      }
    });
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      // Those of wanted buckets were counted with their parts.
      buckets[i].count += buckets[i].wanted ? 0 : counts[i];
    }
  }

  /// The last of these that is not above a value; a power of two of them, ascending, of which the
  /// first is not above it. Without a branch on the value.
  static std::size_t bucket_of(std::int64_t value, std::span<const std::int64_t> lows) {
    std::size_t bucket = 0;
    const auto narrow = [&](std::size_t half) {
      bucket += value >= lows[bucket + half] ? half : 0;
    };
    if (lows.size() == kUsualBuckets) [[likely]] {
      narrow(8);
      narrow(4);
      narrow(2);
      narrow(1);
      return bucket;
    }
    for (std::size_t half = lows.size() / 2; half > 0; half /= 2) {
      narrow(half);
    }
    return bucket;
  }
  /// What the quantiles of a summary need, in a power of two.
  static constexpr std::size_t kUsualBuckets = 16;

  static Buckets make_buckets(std::vector<std::int64_t> sample,
                              std::int64_t total,
                              std::int64_t low,
                              std::int64_t high,
                              std::span<const std::int64_t> ranks);
  template <class Some>
  static void solve_by_sorting(const Some& runs,
                               std::span<const std::int64_t> ranks,
                               std::span<std::int64_t> answers);
  template <class Some>
  static void solve_by_bucket(const Some& runs,
                              std::int64_t low,
                              std::int64_t high,
                              std::span<const std::int64_t> ranks,
                              std::span<std::int64_t> answers);
};

template <class Some>
void RunMultiset::Selection::solve_by_sorting(const Some& runs,
                                              std::span<const std::int64_t> ranks,
                                              std::span<std::int64_t> answers) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> values;
  runs.for_each_block([&](const RunColumns& block) {
    for (std::size_t i = 0; i < block.size; ++i) {
      const Run run = block.at(i);
      for (std::uint32_t k = 0; k < run.count; ++k) {
        values.emplace_back(run.first + run.growth * k, run.repeat);
      }
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

std::vector<std::int64_t> RunMultiset::Selection::Parts::sample() const {
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kGreatest = 4096;
  constexpr std::size_t kRunsPerValue = 8;
  const auto wanted =
      static_cast<std::int64_t>(std::clamp(size() / kRunsPerValue, kLeast, kGreatest));
  const std::int64_t stride = std::max<std::int64_t>(total() / wanted, 1);
  std::vector<std::int64_t> values;
  std::int64_t before = 0;
  std::int64_t next = stride / 2;
  for_each_block([&](const RunColumns& block) {
    for (std::size_t i = 0; i < block.size; ++i) {
      const Run run = block.at(i);
      const std::int64_t after = before + run.values();
      for (; next < after; next += stride) {
        values.push_back(run.first + run.growth * ((next - before) / run.repeat));
      }
      before = after;
    }
  });
  return values;
}

/// A bucket about each rank, as far as the sample can tell, and the ranges between them. At least
/// two buckets, so that each is smaller than the whole.
RunMultiset::Selection::Buckets RunMultiset::Selection::make_buckets(
    std::vector<std::int64_t> sample,
    std::int64_t total,
    std::int64_t low,
    std::int64_t high,
    std::span<const std::int64_t> ranks) {
  constexpr double kDeviations = 2.5;  // that a rank is allowed from where the sample has it
  std::sort(sample.begin(), sample.end());
  const auto size = static_cast<double>(sample.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // Where ranks should be, inclusive.
  std::vector<std::int64_t> cuts;                             // Each a bucket's least value.
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0 && ranks[i] == ranks[i - 1] + 1) {
      continue;  // Neighbours are sought between the same cuts.
    }
    const std::int64_t rank = ranks[i];
    const double share = static_cast<double>(rank) / static_cast<double>(total);
    const double spread = 1.0 + kDeviations * std::sqrt(size * share * (1.0 - share));
    const double below = size * share - spread;
    const double above = size * share + spread;
    const std::int64_t from =
        below >= 0.0 ? std::max(sample[static_cast<std::size_t>(below)], low) : low;
    const std::int64_t to =
        above < size ? std::min(sample[static_cast<std::size_t>(above)], high) : high;
    ranges.emplace_back(from, to);
    if (from > low) {
      cuts.push_back(from);
    }
    if (to < high) {
      cuts.push_back(to + 1);
    }
  }
  if (cuts.empty()) {
    cuts.push_back(shifted(low, distance(low, high) / 2) + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  Buckets buckets(cuts.size() + 1);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    Bucket& bucket = buckets[i];
    bucket.low = i == 0 ? low : cuts[i - 1];
    bucket.high = i == cuts.size() ? high : cuts[i] - 1;
    bucket.wanted = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
      return range.first <= bucket.high && bucket.low <= range.second;
    });
  }
  return buckets;
}

template <class Some>
void RunMultiset::Selection::solve_by_bucket(const Some& runs,
                                             std::int64_t low,
                                             std::int64_t high,
                                             std::span<const std::int64_t> ranks,
                                             std::span<std::int64_t> answers) {
  Buckets buckets = make_buckets(runs.sample(), runs.total(), low, high, ranks);
  RIDGELINE_CHECK(buckets.size() <= std::numeric_limits<std::uint8_t>::max(), "number of buckets");
  count_and_keep(runs, buckets);

  /// Ranks that fall into one bucket.
  struct Group {
    std::size_t bucket = 0;
    std::vector<std::int64_t> ranks;  ///< Within the bucket.
    std::size_t first_answer = 0;
  };
  std::vector<Group> groups;
  std::size_t at = 0;
  std::int64_t below = 0;
  bool missed = false;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    while (below + buckets[at].count <= ranks[i]) {
      below += buckets[at++].count;
    }
    if (groups.empty() || groups.back().bucket != at) {
      groups.push_back({.bucket = at, .ranks = {}, .first_answer = i});
      missed = missed || !buckets[at].wanted;
    }
    groups.back().ranks.push_back(ranks[i] - below);
  }
  if (missed) {
    for (Bucket& bucket : buckets) {
      bucket = {.low = bucket.low, .high = bucket.high, .wanted = false, .count = 0, .parts = {}};
    }
    for (const Group& group : groups) {
      buckets[group.bucket].wanted = true;
    }
    count_and_keep(runs, buckets);
  }
  for (const Group& group : groups) {
    const Bucket& bucket = buckets[group.bucket];
    solve(bucket.parts,
          bucket.low,
          bucket.high,
          group.ranks,
          answers.subspan(group.first_answer, group.ranks.size()));
  }
}

std::int64_t RunMultiset::order_statistic(std::int64_t index) const {
  RIDGELINE_CHECK(index >= 0 && index < count(), "index of an order statistic");
  const Moments whole = moments();
  std::int64_t answer = 0;
  Selection::solve(
      AllRuns{*this}, whole.min(), whole.max(), std::span(&index, 1), std::span(&answer, 1));
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
  const Moments whole = moments();
  Selection::solve(AllRuns{*this}, whole.min(), whole.max(), ranks, values);

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

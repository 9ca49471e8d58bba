#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/moments.hpp"
#include "core/overflow.hpp"
#include "core/packed_runs.hpp"

namespace ridgeline::core {

/// An exact multiset of values kept as arithmetic runs of some ten bytes: memory follows the runs,
/// not the values. A sample of the values is kept beside them, so that quantiles are found in one
/// look at the runs. Equal neighbours, and single values that continue the run before them, join
/// it, so that one value after another costs no more than the run they form.
class RunMultiset {
 public:
  /// As Moments::add: count and repeat of 0 to 2^32 - 1, any growth.
  void add(std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat) {
    if (count == 1 && repeat > 0 && repeat <= kMostPerRun) [[likely]] {
      add(Run{
          .first = first, .growth = 0, .count = 1, .repeat = static_cast<std::uint32_t>(repeat)});
    } else {
      add_long(first, growth, count, repeat);
    }
  }
  void add(std::int64_t value) { add(value, 0, 1, 1); }

  [[nodiscard]] Moments moments() const;
  [[nodiscard]] std::int64_t count() const { return moments_.count() + last_.values(); }
  [[nodiscard]] Fingerprint fingerprint() const { return moments().fingerprint(); }

  /// The value at 0-based `index` in sorted order; 0 <= index < count().
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const;
  /// As core::quantile(s); require count() >= 1. One pass over the runs for all probabilities
  /// together (a second if the sample misled it), and some over small parts of them.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] std::vector<double> quantiles(std::span<const double> probabilities) const;

  [[nodiscard]] std::size_t num_runs() const {
    return packed_.size() + (last_.count > 0 ? std::size_t{1} : std::size_t{0});
  }

 private:
  using Run = ValueRun;
  static constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();
  class Selection;
  struct AllRuns;

  [[nodiscard]] static ArithmeticRun arithmetic(const Run& run) {
    return {.first = run.first, .growth = run.growth, .count = run.count, .repeat = run.repeat};
  }
  /// Of at least one value.
  void add(const Run& run) {
    // Runs join if as many requests got each of their tokens, or if both are the same one value.
    const bool equal = (run.count | last_.count) == 1 && run.first == last_.first;
    if ((run.repeat != last_.repeat && !equal) || !join(run)) {
      pack_last();
      last_ = run;
    }
  }
  void add_long(std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat);
  /// Whether it continues the last run, which it is part of then. (In line: handed over in memory,
  /// a run that was just put together would be waited for.)
  [[gnu::always_inline]] bool join(const Run& next) {
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
    // One value alone has any growth; but two that are far apart are no beginning of anything.
    std::int64_t growth = last.growth;
    if (last.count == 1 && (__builtin_sub_overflow(next.first, last.first, &growth) ||
                            !PackedRuns::is_small(growth))) {
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
  void pack_last() {
    if (last_.count == 0) {
      return;
    }
    if (next_sampled_ < moments_.count() + last_.values()) {
      take_sample(last_, moments_.count());
    }
    moments_.add_known(arithmetic(last_));
    packed_.add(last_);
    num_points_ += last_.count;
  }
  void take_sample(const Run& run, std::int64_t before);

  PackedRuns packed_;  ///< All runs but the last.
  Run last_;
  std::uint64_t num_points_ = 0;  ///< Sum of the packed runs' counts.
  Moments moments_;
  std::vector<std::int64_t> sample_;  ///< Every stride-th value in the order of adding.
  std::int64_t stride_ = 32;
  std::int64_t next_sampled_ = 0;  ///< How many values come before the next of them.
};

}  // namespace ridgeline::core

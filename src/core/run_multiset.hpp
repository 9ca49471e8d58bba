#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/moments.hpp"
#include "core/packed_integers.hpp"

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
  [[nodiscard]] std::int64_t count() const { return moments_.count() + values_of(last_); }
  [[nodiscard]] Fingerprint fingerprint() const { return moments().fingerprint(); }

  /// The value at 0-based `index` in sorted order; 0 <= index < count().
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const;
  /// As core::quantile(s); require count() >= 1. One pass over the runs for all probabilities
  /// together (a second if the sample misled it), and some over small parts of them.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] std::vector<double> quantiles(std::span<const double> probabilities) const;

  [[nodiscard]] std::size_t num_runs() const {
    return num_packed_ + (last_.count > 0 ? std::size_t{1} : std::size_t{0});
  }

 private:
  struct Run {
    std::int64_t first = 0;
    std::int64_t growth = 0;
    std::uint32_t count = 0;
    std::uint32_t repeat = 0;
  };
  static constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();
  /// Where the last two runs ended: steps with prompts and steps without take turns, and the next
  /// of either kind is near the last one of it.
  struct Ends {
    std::uint64_t newest = 0;
    std::uint64_t older = 0;

    void add(const Run& run) {
      older = newest;
      newest = static_cast<std::uint64_t>(run.first) +
               static_cast<std::uint64_t>(run.growth) * (run.count - 1U);
    }
  };
  class Selection;
  struct AllRuns;

  [[nodiscard]] static std::int64_t values_of(const Run& run) {
    return std::int64_t{run.count} * run.repeat;
  }
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
  bool join(const Run& next);
  void pack_last();
  void take_sample(const Run& run);

  PackedIntegers packed_;  ///< All runs but the last.
  Ends packed_ends_;
  Run last_;                      ///< No run while its count is 0.
  std::size_t num_packed_ = 0;    ///< These, like the two that follow, are of the packed runs.
  std::uint64_t num_points_ = 0;  ///< Sum of their counts.
  Moments moments_;
  std::vector<std::int64_t> sample_;  ///< Every stride-th value in the order of adding.
  std::int64_t stride_ = 32;
  std::int64_t next_sampled_ = 0;  ///< How many values come before the next of them.
};

}  // namespace ridgeline::core

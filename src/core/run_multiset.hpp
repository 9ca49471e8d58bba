#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/moments.hpp"
#include "core/packed_runs.hpp"
#include "core/piece_arena.hpp"
#include "core/repeated_runs.hpp"
#include "core/run_columns.hpp"

namespace ridgeline::core {

/// An exact multiset of values kept as arithmetic runs of some ten bytes: memory follows the runs,
/// not the values. A sample of the values is kept beside them, so that quantiles are found in one
/// look at the runs. What continues the run before it joins it, so that one value after another
/// costs no more than the run they form.
class RunMultiset {
 public:
  explicit RunMultiset(std::shared_ptr<PieceArena> arena = std::make_shared<PieceArena>())
      : packed_(std::move(arena)) {}

  /// As Moments::add: count and repeat of 0 to 2^32 - 1, any growth (checked).
  void add(std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat) {
    if (may_join(first, repeat) && join_any(first, growth, count)) {
      return;
    }
    close();
    if (ShortRuns::is_run(first, growth, count, repeat)) [[likely]] {
      open(first, growth, count, repeat);
    } else {
      add_any(first, growth, count, repeat);
    }
  }
  void add(std::int64_t value) { add(value, 0, 1, 1); }
  /// The same of some runs, one after the other, whose columns hold anything afterwards.
  void add_and_spoil(RunColumns& runs);

  [[nodiscard]] Moments moments() const;
  [[nodiscard]] std::int64_t count() const { return moments().count(); }
  [[nodiscard]] Fingerprint fingerprint() const { return moments().fingerprint(); }

  /// The value at 0-based `index` in sorted order; 0 <= index < count().
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const;
  /// As core::quantile(s); require count() >= 1. One pass over the runs for all probabilities
  /// together (a second if the sample misled it), and some over small parts of them.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] std::vector<double> quantiles(std::span<const double> probabilities) const;

  [[nodiscard]] std::size_t num_runs() const {
    return packed_.size() + repeated_.size() + pending_.size + (open_.repeat > 0 ? 1 : 0);
  }

 private:
  using Run = ValueRun;
  static constexpr std::int64_t kMostPerRun = std::numeric_limits<std::uint32_t>::max();
  class Selection;
  struct AllRuns;

  /// Whether join_any() is worth asking.
  [[nodiscard]] bool may_join(std::int64_t first, std::int64_t repeat) const {
    return repeat == open_.repeat && (first == next_ || open_.count == 1);
  }
  /// Whether what is repeated as often follows the open run, which it is part of then.
  bool join_any(std::int64_t first, std::int64_t growth, std::int64_t count) {
    return count == 1 ? join(first) : join(first, growth, count);
  }
  /// Whether a value follows the open run, which it is part of then.
  bool join(std::int64_t value) {
    if (!ShortRuns::is_value(value) || open_.count == ShortRuns::kMostCount) {
      return false;
    }
    std::int64_t growth = open_.growth;
    if (open_.count == 1) {
      // One value alone has any growth; but two that are far apart are no beginning of a series: a
      // third would seldom continue it.
      constexpr std::int64_t kNear = std::int64_t{1} << 29;
      growth = value - open_.first;
      if (growth < -kNear || growth > kNear) {
        return false;
      }
    } else if (value != next_) {
      return false;
    }
    open_.growth = growth;
    ++open_.count;
    next_ = value + growth;
    return true;
  }
  /// The same of several values.
  bool join(std::int64_t first, std::int64_t growth, std::int64_t count) {
    if (!ShortRuns::is_run(first, growth, count, 1) ||
        open_.count + count > ShortRuns::kMostCount) {
      return false;
    }
    const bool follows =
        open_.count == 1 ? first - open_.first == growth : first == next_ && growth == open_.growth;
    if (!follows) {
      return false;
    }
    open_.growth = growth;
    open_.count += count;
    next_ = first + growth * count;
    return true;
  }
  void open(std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat) {
    open_ = {.first = first, .growth = growth, .count = count, .repeat = repeat};
    next_ = first + growth * count;
  }
  /// Puts the open run to the pending ones.
  void close() {
    if (pending_.full()) [[unlikely]] {
      take_pending();
    }
    // Without a branch: nothing is open at the beginning and after long runs only.
    pending_.put(open_.first, open_.growth, open_.count, open_.repeat);
    pending_.size += open_.repeat > 0 ? 1 : 0;
    open_.repeat = 0;
  }
  void add_any(std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat);
  /// What is not packed yet.
  template <class Visitor>
  void for_each_unpacked(Visitor&& visit) const;
  void sum_up(const RunColumns& runs, Moments& moments) const;
  void take_long_out(RunColumns& runs);
  void pack(const RunColumns& runs);
  void take(const RunColumns& runs);
  void take_pending();
  void take_sample(const RunColumns& runs);

  /// The last run, if it may go on; one that is short. Repeats of 0: there is none.
  ArithmeticRun open_ = {.first = 0, .growth = 0, .count = 1, .repeat = 0};
  std::int64_t next_ = 0;             ///< What would continue it, if it is several values.
  RunColumns pending_;                ///< The runs before, not taken in yet.
  bool any_is_long_ = false;          ///< One of those is not as ShortRuns has them.
  RepeatedRuns repeated_;             ///< Of those before, some that may come again.
  PackedRuns packed_;                 ///< All others.
  Moments moments_;                   ///< Of those.
  std::int64_t num_taken_ = 0;        ///< Values of all that are not pending.
  std::vector<std::int64_t> sample_;  ///< Every stride-th value of those in the order of adding.
  std::int64_t stride_ = 32;
  std::int64_t next_sampled_ = 0;  ///< How many values come before the next of them.
};

}  // namespace ridgeline::core

#include "metrics/order_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/statistics/overflow.hpp"
#include "core/statistics/quantiles.hpp"
#include "metrics/integer_table.hpp"

namespace ridgeline::metrics {
namespace {

/// One of so many values is sampled, between these limits. The least sample tells of a median that
/// it is among 8 % of all values: sorting more of them takes longer than what that saves.
constexpr std::int64_t kValuesPerSampled = 256;
constexpr std::int64_t kFewestSampled = 1024;
constexpr std::int64_t kMostSampled = 16384;
/// How many values of a range are kept.
constexpr std::int64_t kMostKept = std::int64_t{1} << 18;
/// Cells of a range whose values are counted.
constexpr unsigned kCellBits = 12;
/// Standard deviations that an order statistic is allowed from where the sample has it.
constexpr double kDeviations = 2.5;

}  // namespace

SystematicSample::SystematicSample(std::int64_t count) {
  if (count > kFewestSampled) {
    const std::int64_t wanted = std::clamp(count / kValuesPerSampled, kFewestSampled, kMostSampled);
    stride_ = count / wanted;
    next_ = stride_ / 2;
    values_.reserve(static_cast<std::size_t>(count / stride_ + 1));
  }
}

void SystematicSample::take(std::span<const std::int64_t> values) {
  if (stride_ == 0) {
    return;
  }
  const auto size = static_cast<std::int64_t>(values.size());
  for (; next_ < size; next_ += stride_) {
    values_.push_back(values[static_cast<std::size_t>(next_)]);
  }
  next_ -= size;
}

void SystematicSample::take(const RunBlock& runs) {
  if (stride_ == 0) {
    return;
  }
  for (std::size_t i = 0; i < runs.first.size(); ++i) {
    const std::int64_t values = runs.count[i] * runs.repeat[i];
    for (; next_ < values; next_ += stride_) {
      values_.push_back(runs.first[i] + runs.growth[i] * (next_ / runs.repeat[i]));
    }
    next_ -= values;
  }
}

OrderSearch::OrderSearch(const statistics::Moments& moments,
                         const SystematicSample& sample,
                         std::span<const double> probabilities)
    : count_(moments.count()), least_(moments.min()), greatest_(moments.max()) {
  RIDGELINE_CHECK(least_ >= 0, "quantiles of negative values");
  for (const double p : probabilities) {
    const statistics::QuantilePosition at =
        positions_.emplace_back(statistics::quantile_position(count_, p));
    wanted_.push_back({.index = at.index});
    if (at.fraction > 0.0) {
      wanted_.push_back({.index = at.index + 1});
    }
  }
  const auto by_index = [](const Wanted& a, const Wanted& b) { return a.index < b.index; };
  std::ranges::sort(wanted_, by_index);
  const auto same = [](const Wanted& a, const Wanted& b) { return a.index == b.index; };
  const auto repeated = std::ranges::unique(wanted_, same);
  wanted_.erase(repeated.begin(), repeated.end());

  std::vector<std::int64_t> sorted = sample.values();
  std::ranges::sort(sorted);
  const auto size = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const double share = static_cast<double>(wanted_[i].index) / static_cast<double>(count_);
    const double spread = 1.0 + kDeviations * std::sqrt(size * share * (1.0 - share));
    const double from = size * share - spread;
    const double to = size * share + spread;
    const std::int64_t low = from >= 0.0 ? sorted[static_cast<std::size_t>(from)] : least_;
    const std::int64_t high = to < size ? sorted[static_cast<std::size_t>(to)] : greatest_;
    const auto inside =
        std::ranges::upper_bound(sorted, high) - std::ranges::lower_bound(sorted, low);
    const double expected = static_cast<double>(inside) / size * static_cast<double>(count_);
    seek(i, low, high, sorted.empty() ? count_ : static_cast<std::int64_t>(expected));
  }
  arrange();
}

/// Seeks an order statistic among low ... high next, of which there should be `expected` values.
void OrderSearch::seek(std::size_t number,
                       std::int64_t low,
                       std::int64_t high,
                       std::int64_t expected) {
  ranges_.push_back({.low = low,
                     .high = high,
                     .wanted = {number},
                     .expected = expected,
                     .kept = {},
                     .cells = {}});
}

/// Makes one range of those that have a value in common, and decides what becomes of their values.
void OrderSearch::arrange() {
  std::ranges::stable_sort(ranges_, {}, &Range::low);
  std::vector<Range> apart;
  for (Range& range : ranges_) {
    if (apart.empty() || apart.back().high < range.low) {
      apart.push_back(std::move(range));
      continue;
    }
    Range& last = apart.back();
    last.high = std::max(last.high, range.high);
    last.expected = std::max(last.expected, range.expected);
    last.wanted.insert(last.wanted.end(), range.wanted.begin(), range.wanted.end());
  }
  ranges_ = std::move(apart);
  for (Range& range : ranges_) {
    std::ranges::sort(range.wanted);
    if (range.expected > kMostKept) {
      const auto bits =
          static_cast<unsigned>(std::bit_width(statistics::distance(range.low, range.high)));
      range.shift = bits > kCellBits ? bits - kCellBits : 0;
      range.cells.resize(range.cell_of(range.high) + 1);
    } else {
      // With room for a sample that has too few of them.
      range.kept.reserve(static_cast<std::size_t>(range.expected + range.expected / 8));
    }
  }
}

std::size_t OrderSearch::Range::cell_of(std::int64_t value) const {
  return static_cast<std::size_t>(statistics::distance(low, value) >> shift);
}

void OrderSearch::Range::add(std::int64_t value, std::int64_t times) {
  if (!cells.empty()) {
    cells[cell_of(value)] += times;
  } else if (times == 1) {
    kept.push_back(value);
  } else {
    kept.insert(kept.end(), static_cast<std::size_t>(times), value);
  }
}

/// Adds those values of a run that are in the range, and counts those below. The run ends inside or
/// above the range, and begins inside or below.
void OrderSearch::Range::take_part(const statistics::ArithmeticRun& run) {
  if (run.growth == 0) {
    add(run.first, run.count * run.repeat);
    return;
  }
  const std::int64_t num_below = run.first < low ? (low - 1 - run.first) / run.growth + 1 : 0;
  below += num_below * run.repeat;
  const std::uint64_t end =
      statistics::distance(low, std::min(run.first + run.growth * (run.count - 1), high));
  const auto growth = static_cast<std::uint64_t>(run.growth);
  std::uint64_t offset = statistics::distance(low, run.first + run.growth * num_below);
  if (cells.empty()) {
    for (; offset <= end; offset += growth) {
      add(statistics::shifted(low, offset), run.repeat);
    }
    return;
  }
  std::int64_t* const counts = cells.data();
  const unsigned cell_bits = shift;
  for (; offset <= end; offset += growth) {
    counts[offset >> cell_bits] += run.repeat;
  }
}

/// The borders of some ranges: where a value stands among them, and the values between them.
class OrderSearch::Cuts {
 public:
  explicit Cuts(std::span<Range> ranges) : ranges_(ranges) {
    before_.fill(std::numeric_limits<std::int64_t>::max());
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      before_[2 * r] = ranges[r].low - 1;
      before_[2 * r + 1] = ranges[r].high;
    }
  }
  /// How many borders the value is beyond: 2 r below range number r, and 2 r + 1 inside of it.
  [[nodiscard]] std::size_t position_of(std::int64_t value) const {
    // By halving, without a branch on the value, which could not be predicted.
    std::size_t at = value > before_[7] ? 8U : 0U;
    at += value > before_[at + 3] ? 4U : 0U;
    at += value > before_[at + 1] ? 2U : 0U;
    at += value > before_[at] ? 1U : 0U;
    return at;
  }
  /// Whether a run that begins at a position ends before the next border, and outside of a range.
  [[nodiscard]] bool is_between(std::size_t position, std::int64_t last) const {
    return (position % 2 == 0) & (last <= before_[position]);
  }
  void count(std::size_t position, std::int64_t values) { counts_[position] += values; }

  [[nodiscard]] std::span<Range> ranges() const { return ranges_; }
  /// Adds what was counted to what the ranges know of the values below them.
  void finish() {
    std::int64_t below = 0;
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      below += counts_[2 * r];
      ranges_[r].below += below;
      below += counts_[2 * r + 1];
    }
  }

 private:
  static constexpr std::size_t kBorders = 16;
  static_assert(2 * kRangesAtOnce < kBorders);

  std::span<Range> ranges_;
  std::array<std::int64_t, kBorders> before_;    ///< The last value before each border.
  std::array<std::int64_t, kBorders> counts_{};  ///< Values by position.
};

/// Calls visit(cuts) for all ranges, so many at a time.
template <class Visitor>
void OrderSearch::for_each_cuts(const Visitor& visit) {
  const std::span<Range> ranges = ranges_;
  for (std::size_t r = 0; r < ranges.size(); r += kRangesAtOnce) {
    Cuts cuts(ranges.subspan(r, std::min(kRangesAtOnce, ranges.size() - r)));
    visit(cuts);
    cuts.finish();
  }
}

void OrderSearch::take(std::span<const std::int64_t> values) {
  for_each_cuts([values](Cuts& cuts) {
    // Most values lie between two ranges: those take no branch.
    ColumnValues inside;
    for (std::size_t done = 0; done < values.size(); done += kBlockRows) {
      std::size_t num_inside = 0;
      for (const std::int64_t value :
           values.subspan(done, std::min(kBlockRows, values.size() - done))) {
        const std::size_t position = cuts.position_of(value);
        cuts.count(position, 1);
        inside[num_inside] = value;
        num_inside += position % 2;
      }
      for (const std::int64_t value : std::span(inside).first(num_inside)) {
        cuts.ranges()[cuts.position_of(value) / 2].add(value, 1);
      }
    }
  });
}

void OrderSearch::take(const RunBlock& runs) {
  const std::size_t size = runs.first.size();
  ColumnValues last;
  ColumnValues weights;
  for (std::size_t i = 0; i < size; ++i) {
    last[i] = runs.first[i] + runs.growth[i] * (runs.count[i] - 1);
    weights[i] = runs.count[i] * runs.repeat[i];
  }
  for_each_cuts([&](Cuts& cuts) {
    // Most runs do too.
    std::array<std::size_t, kBlockRows> others;
    std::size_t num_others = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t position = cuts.position_of(runs.first[i]);
      const bool is_between = cuts.is_between(position, last[i]);
      cuts.count(position, is_between ? weights[i] : 0);
      others[num_others] = i;
      num_others += is_between ? 0U : 1U;
    }
    for (const std::size_t i : std::span(others).first(num_others)) {
      for (Range& range : cuts.ranges()) {
        if (last[i] < range.low) {
          range.below += weights[i];
        } else if (runs.first[i] <= range.high) {
          range.take_part({.first = runs.first[i],
                           .growth = runs.growth[i],
                           .count = runs.count[i],
                           .repeat = runs.repeat[i]});
        }
      }
    }
  });
}

void OrderSearch::seek_in_cells(const Range& range, std::size_t number, std::int64_t index) {
  std::size_t cell = 0;
  for (; cell < range.cells.size() && range.cells[cell] <= index; ++cell) {
    index -= range.cells[cell];
  }
  if (cell == range.cells.size()) {
    seek(number, range.high + 1, greatest_, count_);
    return;
  }
  const std::int64_t low = statistics::shifted(range.low, std::uint64_t{cell} << range.shift);
  if (range.shift == 0) {
    wanted_[number].value = low;
    return;
  }
  const std::uint64_t width = (std::uint64_t{1} << range.shift) - 1;
  const std::uint64_t left = statistics::distance(low, range.high);
  seek(number, low, statistics::shifted(low, std::min(width, left)), range.cells[cell]);
}

void OrderSearch::narrow() {
  std::vector<Range> shown = std::exchange(ranges_, {});
  for (Range& range : shown) {
    auto unsorted = range.kept.begin();  // No value before is above one from here on.
    for (const std::size_t number : range.wanted) {
      const std::int64_t index = wanted_[number].index - range.below;
      if (index < 0) {
        seek(number, least_, range.low - 1, count_);
      } else if (!range.cells.empty()) {
        seek_in_cells(range, number, index);
      } else if (index < static_cast<std::int64_t>(range.kept.size())) {
        const auto place = range.kept.begin() + index;
        std::nth_element(unsorted, place, range.kept.end());
        wanted_[number].value = *place;
        unsorted = place;
      } else {
        seek(number, range.high + 1, greatest_, count_);
      }
    }
  }
  arrange();
}

std::int64_t OrderSearch::value_at(std::int64_t index) const {
  const auto found = std::ranges::lower_bound(wanted_, index, {}, &Wanted::index);
  return found->value;
}

std::vector<double> OrderSearch::quantiles() const {
  RIDGELINE_CHECK(done(), "quantiles before the search has ended");
  std::vector<double> results;
  results.reserve(positions_.size());
  for (const statistics::QuantilePosition& at : positions_) {
    const std::int64_t low = value_at(at.index);
    const std::int64_t high = at.fraction > 0.0 ? value_at(at.index + 1) : low;
    results.push_back(statistics::interpolate(low, high, at.fraction));
  }
  return results;
}

}  // namespace ridgeline::metrics

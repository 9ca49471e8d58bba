#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantiles.hpp"
#include "metrics/integer_table.hpp"

namespace ridgeline::metrics {

/// Some arithmetic runs of values, side by side: number i is repeat[i] copies of each of first[i],
/// first[i] + growth[i], ..., count[i] values in all. Growths are not negative; there are at most
/// kBlockRows runs.
struct RunBlock {
  std::span<const std::int64_t> first;
  std::span<const std::int64_t> growth;
  std::span<const std::int64_t> count;
  std::span<const std::int64_t> repeat;
};

/// Every n-th of all values that it is shown, some thousands in all. Other values are placed in
/// the order by comparing them with the sample.
class SystematicSample {
 public:
  /// `count`: how many values there are.
  explicit SystematicSample(std::int64_t count);

  void take(std::span<const std::int64_t> values);
  void take(const RunBlock& runs);
  /// Empty where the values are so few that a sample helps nothing.
  [[nodiscard]] const std::vector<std::int64_t>& values() const { return values_; }

 private:
  std::int64_t stride_ = 0;  ///< 0: nothing is sampled.
  std::int64_t next_ = 0;    ///< How many values come before the next one that is taken.
  std::vector<std::int64_t> values_;
};

/// Finds exact quantiles of values that can be shown several times, without a copy of them.
///
///   OrderSearch search(moments, sample, probabilities);
///   while (!search.done()) {
///     search.take(values);   // all of them, part after part
///     search.narrow();
///   }
///   search.quantiles();
///
/// About each order statistic it wants there is a range. While all values pass, it counts those
/// below the range, and keeps those inside; or counts them in equal cells where they are too many
/// to keep, one of which is the range of the next round. The first ranges come from a sample: if it
/// misled, the next range is what lies beyond.
class OrderSearch {
 public:
  /// `moments` of all values: at least one, none negative; each probability is 0 to 1 (checked).
  OrderSearch(const statistics::Moments& moments,
              const SystematicSample& sample,
              std::span<const double> probabilities);

  [[nodiscard]] bool done() const { return ranges_.empty(); }
  void take(std::span<const std::int64_t> values);
  void take(const RunBlock& runs);
  /// After all values were shown.
  void narrow();
  /// As statistics::quantiles. Requires done().
  [[nodiscard]] std::vector<double> quantiles() const;

 private:
  /// An order statistic: the value with this 0-based index among all in ascending order.
  struct Wanted {
    std::int64_t index = 0;
    std::int64_t value = 0;  ///< Once it is found.
  };
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;            ///< The last value inside.
    std::vector<std::size_t> wanted;  ///< Numbers of the order statistics that are sought here.
    std::int64_t expected = 0;        ///< How many values should be inside.
    std::int64_t below = 0;           ///< Values shown that are less than `low`.
    std::vector<std::int64_t> kept;   ///< Those inside, where they are kept.
    std::vector<std::int64_t> cells;  ///< Their number per cell of 2^shift values, where not.
    unsigned shift = 0;

    [[nodiscard]] std::size_t cell_of(std::int64_t value) const;
    void add(std::int64_t value, std::int64_t times);
    void take_part(const statistics::ArithmeticRun& run);
  };
  class Cuts;

  /// How many ranges values are held against at once.
  static constexpr std::size_t kRangesAtOnce = 7;
  template <class Visitor>
  void for_each_cuts(const Visitor& visit);
  void seek(std::size_t number, std::int64_t low, std::int64_t high, std::int64_t expected);
  void seek_in_cells(const Range& range, std::size_t number, std::int64_t index);
  void arrange();
  [[nodiscard]] std::int64_t value_at(std::int64_t index) const;

  std::int64_t count_;
  std::int64_t least_;
  std::int64_t greatest_;
  std::vector<statistics::QuantilePosition> positions_;  ///< In the order of the probabilities.
  std::vector<Wanted> wanted_;                           ///< By index.
  std::vector<Range> ranges_;                            ///< Ascending, without a common value.
};

}  // namespace ridgeline::metrics

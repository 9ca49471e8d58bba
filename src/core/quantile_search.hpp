#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/quantiles.hpp"

namespace ridgeline::core {

/// Finds exact quantiles of values that can be shown again, without a copy of them: some of the
/// values tell where the quantiles must be about, all of them are counted in buckets, and those of
/// the buckets about the quantiles are kept.
///
///   QuantileSearch search(count, least, greatest, probabilities);
///   search.sample(some);   // and more of them
///   search.choose();
///   search.take(values);   // all of them, part after part
///   if (!search.found()) {
///     search.choose_counted();
///     search.keep(values);  // all of them again
///   }
///   search.quantiles();
///
/// Buckets divide the doubles between the least and the greatest value evenly, so they are fine
/// where values are dense near the least one, and as wide as some per mille of a value elsewhere.
class QuantileSearch {
 public:
  /// `count` is that of the values, at least one, and 0 <= least <= each of them <= greatest;
  /// each probability is 0 to 1 (checked).
  QuantileSearch(std::int64_t count,
                 std::int64_t least,
                 std::int64_t greatest,
                 std::span<const double> probabilities);

  void sample(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
      ++counts_[bucket_of(value)];
    }
  }
  void choose();
  void take(std::span<const std::int64_t> values) {
    // At hand, as a compiler must take what is counted for what all of these are.
    std::int64_t* const counts = counts_.data();
    const std::uint8_t* const wanted = wanted_.data();
    const std::uint64_t least_key = least_key_;
    const int shift = shift_;
    for (const std::int64_t value : values) {
      const auto bucket = static_cast<std::size_t>((key(value) - least_key) >> shift);
      ++counts[bucket];
      if (wanted[bucket] != 0) [[unlikely]] {
        kept_[wanted[bucket] - 1U].add(value);
      }
    }
  }
  /// Whether the quantiles are among what was kept.
  [[nodiscard]] bool found() const;
  void choose_counted();
  void keep(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
      keep_if_wanted(value, bucket_of(value));
    }
  }
  /// In the order of the probabilities, of map(value) for each value; where a value is not below
  /// another, neither is what it is mapped to.
  template <class Map>
  [[nodiscard]] std::vector<double> quantiles(const Map& map) const {
    std::vector<double> results;
    results.reserve(positions_.size());
    for (const QuantilePosition& at : positions_) {
      const std::int64_t low = map(order_statistic(at.index));
      const std::int64_t high = at.fraction > 0.0 ? map(order_statistic(at.index + 1)) : low;
      results.push_back(interpolate(low, high, at.fraction));
    }
    return results;
  }
  [[nodiscard]] std::vector<double> quantiles() const {
    return quantiles([](std::int64_t value) { return value; });
  }

 private:
  struct Entry {
    std::int64_t value = 0;
    std::int64_t times = 0;
  };
  /// Values with how often each came.
  class Tally {
   public:
    void add(std::int64_t value) {
      if (!entries_.empty() && entries_.back().value == value) {
        ++entries_.back().times;
        return;
      }
      entries_.push_back({.value = value, .times = 1});
      if (entries_.size() == limit_) {
        merge();
      }
    }
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

   private:
    static constexpr std::size_t kLeastLimit = 8192;
    void merge();

    std::vector<Entry> entries_;
    std::size_t limit_ = kLeastLimit;  ///< Equal ones are put together when there are so many.
  };

  [[nodiscard]] static std::uint64_t key(std::int64_t value) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(value) + 1.0);
  }
  [[nodiscard]] std::size_t bucket_of(std::int64_t value) const {
    return static_cast<std::size_t>((key(value) - least_key_) >> shift_);
  }
  void keep_if_wanted(std::int64_t value, std::size_t bucket) {
    if (const std::uint8_t wanted = wanted_[bucket]; wanted != 0) [[unlikely]] {
      kept_[wanted - 1U].add(value);
    }
  }
  [[nodiscard]] std::size_t bucket_at(std::int64_t index) const;
  void want(std::size_t first, std::size_t last);
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const;

  std::uint64_t least_key_;
  int shift_ = 0;
  std::int64_t count_;
  std::vector<QuantilePosition> positions_;  ///< In the order of the probabilities.
  std::vector<std::int64_t> counts_;         ///< By bucket; of the sample until choose().
  std::vector<std::uint8_t> wanted_;         ///< By bucket: one more than its place in kept_, or 0.
  std::vector<Tally> kept_;
};

}  // namespace ridgeline::core

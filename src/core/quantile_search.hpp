#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/moments.hpp"
#include "core/quantiles.hpp"

namespace ridgeline::core {

/// Finds exact quantiles of values that can be shown twice, without a copy of them: the first
/// showing counts them in buckets, the second keeps those of the few buckets where a quantile lies.
///
///   QuantileSearch search(moments, probabilities);
///   search.count(values);  // or part after part
///   search.choose();
///   search.keep(values);
///   search.quantiles();
///
/// Buckets divide the doubles between the least and the greatest value evenly, so they are fine
/// where values are dense near the least one, and as wide as some per mille of a value elsewhere.
/// What is kept follows the distinct values in those buckets.
class QuantileSearch {
 public:
  /// `moments` are those of the values, none negative and at least one of them (checked); each
  /// probability is 0 to 1 (checked).
  QuantileSearch(const Moments& moments, std::span<const double> probabilities);

  void count(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
      ++counts_[bucket_of(value)];
    }
  }
  void choose();
  void keep(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
      if (const std::uint8_t wanted = wanted_[bucket_of(value)]; wanted != 0) [[unlikely]] {
        kept_[wanted - 1U].add(value);
      }
    }
  }
  /// In the order of the probabilities, of the values with `offset` added to each.
  [[nodiscard]] std::vector<double> quantiles(std::int64_t offset = 0);

 private:
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
    /// The value at 0-based `index` in sorted order; there are more than that.
    [[nodiscard]] std::int64_t at(std::int64_t index);

   private:
    struct Entry {
      std::int64_t value = 0;
      std::int64_t times = 0;
    };
    static constexpr std::size_t kLeastLimit = 1024;
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
  /// An order statistic: its bucket, and which of the values there it is.
  struct Place {
    std::size_t bucket = 0;
    std::int64_t index = 0;
  };
  [[nodiscard]] Place place_of(std::int64_t index) const;
  [[nodiscard]] std::int64_t order_statistic(std::int64_t index);

  std::uint64_t least_key_;
  int shift_ = 0;
  std::vector<QuantilePosition> positions_;  ///< In the order of the probabilities.
  std::vector<std::int64_t> counts_;
  std::vector<std::uint8_t> wanted_;  ///< By bucket: one more than its place in kept_, or 0.
  std::vector<Tally> kept_;
};

}  // namespace ridgeline::core

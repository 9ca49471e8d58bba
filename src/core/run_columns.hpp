#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ridgeline::core {

/// `repeat` copies each of first, first + growth, ..., `count` values in all.
struct ValueRun {
  std::int64_t first = 0;
  std::int64_t growth = 0;
  std::uint32_t count = 0;
  std::uint32_t repeat = 0;

  [[nodiscard]] std::int64_t values() const { return std::int64_t{count} * repeat; }
};

/// Some runs side by side: what is done with one of them is done with all in turn, so that the
/// numbers of many are on their way through a processor at once.
struct RunColumns {
  static constexpr std::size_t kMost = 64;
  /// Without values of its own: two kilobytes would be cleared for each of some runs.
  using Column = std::array<std::int64_t, kMost>;

  Column first;
  Column growth;
  Column count;
  Column repeat;
  std::size_t size;

  RunColumns() : size(0) {}  // NOLINT(cppcoreguidelines-pro-type-member-init)

  [[nodiscard]] bool full() const { return size == kMost; }
  void add(std::int64_t its_first,
           std::int64_t its_growth,
           std::int64_t its_count,
           std::int64_t its_repeat) {
    put(its_first, its_growth, its_count, its_repeat);
    ++size;
  }
  /// The same, but for counting it.
  void put(std::int64_t its_first,
           std::int64_t its_growth,
           std::int64_t its_count,
           std::int64_t its_repeat) {
    put_at(size, its_first, its_growth, its_count, its_repeat);
  }
  void put_at(std::size_t i,
              std::int64_t its_first,
              std::int64_t its_growth,
              std::int64_t its_count,
              std::int64_t its_repeat) {
    first[i] = its_first;
    growth[i] = its_growth;
    count[i] = its_count;
    repeat[i] = its_repeat;
  }
  /// Requires count and repeat of at most 2^32 - 1.
  [[nodiscard]] ValueRun at(std::size_t i) const {
    return {.first = first[i],
            .growth = growth[i],
            .count = static_cast<std::uint32_t>(count[i]),
            .repeat = static_cast<std::uint32_t>(repeat[i])};
  }
};

/// What is true of nearly all runs of times, in picoseconds up to two seconds each: sums over such
/// a run fit in 64 bits.
struct ShortRuns {
  static constexpr int kValueBits = 41;
  static constexpr int kGrowthBits = 31;
  static constexpr int kCountBits = 20;
  static constexpr int kRepeatBits = 31;
  static constexpr std::int64_t kMostCount = std::int64_t{1} << kCountBits;

  static constexpr bool is_value(std::int64_t value) {
    return static_cast<std::uint64_t>(value) >> kValueBits == 0;
  }
  /// A run of at least one value, each of 0 to 2^41 - 1, at most 2^20 of them and at most 2^31
  /// times, which grows by less than 2^31.
  static constexpr bool is_run(std::int64_t first,
                               std::int64_t growth,
                               std::int64_t count,
                               std::int64_t repeat) {
    return beyond(first, growth, count, repeat) == 0;
  }
  /// Whether all are.
  static bool are_runs(const RunColumns& runs) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < runs.size; ++i) {
      all |= beyond(runs.first[i], runs.growth[i], runs.count[i], runs.repeat[i]);
    }
    return all == 0;
  }

 private:
  /// Zero for a run as is_run() has it.
  static constexpr std::uint64_t beyond(std::int64_t first,
                                        std::int64_t growth,
                                        std::int64_t count,
                                        std::int64_t repeat) {
    const auto start = static_cast<std::uint64_t>(first);
    const auto step = static_cast<std::uint64_t>(growth);
    const auto steps = static_cast<std::uint64_t>(count) - 1;
    return ((start | (start + step * steps)) >> kValueBits) | (steps >> kCountBits) |
           ((static_cast<std::uint64_t>(repeat) - 1) >> kRepeatBits) |
           ((step + (std::uint64_t{1} << kGrowthBits)) >> (kGrowthBits + 1));
  }
};

}  // namespace ridgeline::core

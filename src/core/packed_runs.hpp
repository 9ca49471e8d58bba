#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace ridgeline::core {

/// `repeat` copies each of first, first + growth, ..., `count` values in all. No growth where there
/// is but one value; no run at all while its count is 0.
struct ValueRun {
  std::int64_t first = 0;
  std::int64_t growth = 0;
  std::uint32_t count = 0;
  std::uint32_t repeat = 0;

  /// Its last value, mod 2^64.
  [[nodiscard]] std::uint64_t end() const {
    return static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(growth) * (count - 1U);
  }
  [[nodiscard]] std::int64_t values() const { return std::int64_t{count} * repeat; }
};

/// A list of runs in six bytes each, six more if of several values and two more if far from the
/// runs before, to be read from the beginning.
///
/// The first six or eight bytes hold, from the lowest bit: whether there are several values; from
/// which of the two runs before it the first value is told, the last or the one before; whether
/// they are eight; the repeats; how far the first value is from the end of that run. The other six
/// hold the count and the growth. What does not fit stands as it is behind six bytes of zeros.
class PackedRuns {
 public:
  /// Whether a growth fits in a run's bytes.
  static constexpr bool is_small(std::int64_t growth) {
    return zigzag(static_cast<std::uint64_t>(growth)) >> kGrowthBits == 0;
  }

  /// Requires count and repeat of at least 1.
  [[gnu::always_inline]] void add(const ValueRun& run) {
    if (used_ > kChunk - kLongest) [[unlikely]] {
      chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
      used_ = 0;
    }
    std::byte* const place = chunks_.back()->data() + used_;
    const auto first = static_cast<std::uint64_t>(run.first);
    const std::uint64_t from_newest = zigzag(first - ends_.newest);
    const std::uint64_t from_older = zigzag(first - ends_.older);
    const bool older = from_older < from_newest;
    const std::uint64_t distance = older ? from_older : from_newest;
    const std::uint64_t growth = zigzag(static_cast<std::uint64_t>(run.growth));
    const std::uint64_t beyond = (distance >> kWideBits) | (run.repeat >> kRepeatBits) |
                                 (growth >> kGrowthBits) | (run.count >> kCountBits);
    if (beyond == 0) [[likely]] {
      // Without a branch on what a run is like: nobody could predict it.
      const bool several = run.count > 1;
      const bool wide = distance >> kDistanceBits != 0;
      const std::size_t head = wide ? kHead + kMore : kHead;
      put(place,
          (distance << kDistanceAt) | (std::uint64_t{run.repeat} << kRepeatAt) |
              (wide ? kWide : 0) | (older ? kOlder : 0) | (several ? kSeveral : 0));
      put(place + head, (growth << kCountBits) | run.count);
      used_ += head + (several ? kTail : 0);
    } else {
      put(place, 0);
      std::memcpy(place + kHead, &run, sizeof(run));
      used_ += kLongest;
    }
    ends_.add(run);
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls visit(run) for each, in the order of add().
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    Ends ends;
    std::size_t left = size_;
    for (const auto& chunk : chunks_) {
      for (std::size_t at = 0; at <= kChunk - kLongest && left > 0; --left) {
        const std::byte* const place = chunk->data() + at;
        const std::uint64_t head = get(place);
        ValueRun run;
        run.repeat = static_cast<std::uint32_t>((head >> kRepeatAt) & mask(kRepeatBits));
        if (run.repeat != 0) [[likely]] {
          const bool several = (head & kSeveral) != 0;
          const bool wide = (head & kWide) != 0;
          const std::size_t head_bytes = wide ? kHead + kMore : kHead;
          const std::uint64_t tail = get(place + head_bytes);
          const std::uint64_t from = (head & kOlder) != 0 ? ends.older : ends.newest;
          run.first = static_cast<std::int64_t>(
              from + unzigzag((head >> kDistanceAt) & mask(wide ? kWideBits : kDistanceBits)));
          const std::uint64_t growth = unzigzag((tail >> kCountBits) & mask(kGrowthBits));
          run.growth = several ? static_cast<std::int64_t>(growth) : 0;
          run.count = several ? static_cast<std::uint32_t>(tail & mask(kCountBits)) : 1;
          at += head_bytes + (several ? kTail : 0);
        } else {
          std::memcpy(&run, place + kHead, sizeof(run));
          at += kLongest;
        }
        ends.add(run);
        visit(run);
      }
    }
  }

 private:
  static constexpr std::size_t kHead = 6;
  static constexpr std::size_t kMore = 2;  ///< Bytes of a head whose distance is wide.
  static constexpr std::size_t kTail = 6;
  static constexpr std::size_t kLongest = kHead + sizeof(ValueRun);
  static constexpr std::size_t kChunk = std::size_t{4} * 1024;
  using Chunk = std::array<std::byte, kChunk>;
  static_assert(std::endian::native == std::endian::little);

  static constexpr std::uint64_t kSeveral = 1;
  static constexpr std::uint64_t kOlder = 2;
  static constexpr std::uint64_t kWide = 4;
  static constexpr unsigned kRepeatAt = 3;
  static constexpr unsigned kRepeatBits = 10;
  static constexpr unsigned kDistanceAt = kRepeatAt + kRepeatBits;
  static constexpr unsigned kDistanceBits = 8 * kHead - kDistanceAt;
  static constexpr unsigned kWideBits = 8 * (kHead + kMore) - kDistanceAt;
  static constexpr unsigned kCountBits = 18;
  static constexpr unsigned kGrowthBits = 8 * kTail - kCountBits;

  /// Where the last two runs ended: steps with prompts and steps without take turns, and the next
  /// of either kind is near the last one of it.
  struct Ends {
    std::uint64_t newest = 0;
    std::uint64_t older = 0;

    void add(const ValueRun& run) {
      older = newest;
      newest = run.end();
    }
  };

  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  /// Small magnitudes become small numbers. Distances may wrap around: adding them up again wraps
  /// back.
  static constexpr std::uint64_t zigzag(std::uint64_t value) {
    return (value << 1U) ^ (0 - (value >> 63U));
  }
  static constexpr std::uint64_t unzigzag(std::uint64_t code) {
    return (code >> 1U) ^ (0 - (code & 1U));
  }
  static void put(std::byte* place, std::uint64_t unit) { std::memcpy(place, &unit, sizeof(unit)); }
  static std::uint64_t get(const std::byte* place) {
    std::uint64_t unit = 0;
    std::memcpy(&unit, place, sizeof(unit));
    return unit;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t used_ = kChunk;  ///< Of the last of them.
  std::size_t size_ = 0;
  Ends ends_;
};

}  // namespace ridgeline::core

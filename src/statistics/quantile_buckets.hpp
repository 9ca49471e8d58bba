#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ridgeline::statistics {

/// Buckets over the unsigned integers: 2^Bits to every power of two, so 2^-Bits of their value
/// wide, and one for each value below 2^(Bits + 1). Found by shifts alone (G. Tene's
/// HdrHistogram).
template <int Bits>
struct LogBuckets {
  static constexpr std::uint64_t kPerOctave = std::uint64_t{1} << Bits;

  static constexpr std::size_t of(std::uint64_t value) {
    const int shift = std::max(static_cast<int>(std::bit_width(value)) - 1 - Bits, 0);
    return static_cast<std::size_t>(shift) * kPerOctave + (value >> shift);
  }
  /// The least and the greatest value of a bucket.
  static constexpr std::uint64_t first(std::size_t bucket) {
    const std::size_t shift = shift_of(bucket);
    return (bucket - shift * kPerOctave) << shift;
  }
  static constexpr std::uint64_t last(std::size_t bucket) {
    return first(bucket) + ((std::uint64_t{1} << shift_of(bucket)) - 1);
  }

 private:
  static constexpr std::size_t shift_of(std::size_t bucket) {
    return bucket < 2 * kPerOctave ? 0 : bucket / kPerOctave - 1;
  }
};

}  // namespace ridgeline::statistics

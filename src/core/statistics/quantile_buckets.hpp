#pragma once

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
    const int shift = shift_of_value(value);
    return static_cast<std::size_t>(shift) * kPerOctave + (value >> shift);
  }
  /// Whether two values are in one bucket, the first being the lesser.
  static constexpr bool share(std::uint64_t less, std::uint64_t greater) {
    const int shift = shift_of_value(less);
    return less >> shift == greater >> shift;
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
  /// The least of the second octave stands for what is less: no branch.
  static constexpr int shift_of_value(std::uint64_t value) {
    return static_cast<int>(std::bit_width(value | kPerOctave)) - 1 - Bits;
  }
  static constexpr std::size_t shift_of(std::size_t bucket) {
    return bucket < 2 * kPerOctave ? 0 : bucket / kPerOctave - 1;
  }
};

}  // namespace ridgeline::statistics

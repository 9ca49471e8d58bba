#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/check.hpp"
#include "core/int128.hpp"

namespace ridgeline::core {

/// Philox4x32-10, a counter-based generator: a keyed scrambling of a 128-bit counter (J. K. Salmon,
/// M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
struct Philox {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  static constexpr Counter scramble(Counter counter, Key key) {
    // Multipliers and key increments of the paper (the increments: golden ratio and sqrt(3) - 1,
    // times 2^32).
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
    constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t kIncrement0 = 0x9E3779B9;
    constexpr std::uint32_t kIncrement1 = 0xBB67AE85;
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t product0 = kMultiplier0 * counter[0];
      const std::uint64_t product1 = kMultiplier1 * counter[2];
      counter = {high(product1) ^ counter[1] ^ key[0],
                 low(product1),
                 high(product0) ^ counter[3] ^ key[1],
                 low(product0)};
      key[0] += kIncrement0;
      key[1] += kIncrement1;
    }
    return counter;
  }

 private:
  static constexpr std::uint32_t high(std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  }
  static constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
};

/// A stream of random numbers named by (seed, replication, purpose, entity). Streams of different
/// names are independent, and one stream's numbers depend on its name and on nothing else: a new
/// consumer changes no other stream. Making one costs a few nanoseconds; 32 bytes.
///
///   RngStream lengths(seed, replication, "lengths", request.value());
///
/// The numbers of a stream are pinned by a test: they are part of the product's results.
class RngStream {
 public:
  constexpr RngStream(std::uint64_t seed,
                      std::uint64_t replication,
                      std::string_view purpose,
                      std::uint64_t entity = 0)
      : key_(mix(mix(mix(seed) + replication) + name_hash(purpose))), entity_(entity) {}

  /// 64 independent bits.
  constexpr std::uint64_t next_u64() {
    if (position_ % 2 != 0) {
      ++position_;
      return second_;
    }
    return next_pair();
  }

  /// Uniform in the open interval (0, 1): the odd multiples of 2^-53, each equally likely, so that
  /// u and 1 - u are both possible and log(u) is finite.
  constexpr double uniform() { return in_unit_interval(next_u64()); }

  /// The next of these, as one by one.
  constexpr void uniform(std::span<double> numbers) {
    std::size_t i = 0;
    if (position_ % 2 != 0 && !numbers.empty()) {
      numbers[i++] = uniform();
    }
    for (; i + 2 <= numbers.size(); i += 2) {
      numbers[i] = in_unit_interval(next_pair());
      numbers[i + 1] = in_unit_interval(second_);
      ++position_;
    }
    if (i < numbers.size()) {
      numbers[i] = uniform();
    }
  }

  /// Uniform over 0 .. n - 1, without bias; n >= 1. Draws again now and then (D. Lemire, "Fast
  /// random integer generation in an interval", ACM TOMACS 29(1), 2019).
  constexpr std::uint64_t below(std::uint64_t n) {
    RIDGELINE_CHECK(n > 0, "there is no number below 0");
    Uint128 product = static_cast<Uint128>(next_u64()) * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t uneven = (0 - n) % n;  // 2^64 mod n
      while (static_cast<std::uint64_t>(product) < uneven) {
        product = static_cast<Uint128>(next_u64()) * n;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// How many 64-bit numbers were drawn: with the name, the whole state of the stream. Runs compare
  /// it.
  [[nodiscard]] constexpr std::uint64_t position() const { return position_; }

 private:
  static constexpr std::uint32_t lower(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static constexpr std::uint32_t upper(std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  }
  static constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) {
    return (static_cast<std::uint64_t>(high) << 32) | low;
  }

  /// The first of two numbers, at an even position; the other one is second_ then.
  constexpr std::uint64_t next_pair() {
    const std::uint64_t block = position_++ / 2;
    const auto words = Philox::scramble(
        {lower(block), upper(block), lower(entity_), upper(entity_)}, {lower(key_), upper(key_)});
    second_ = join(words[2], words[3]);
    return join(words[0], words[1]);
  }
  static constexpr double in_unit_interval(std::uint64_t bits) {
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

  // 2^64 divided by the golden ratio, and SplitMix64's scrambler (G. L. Steele, D. Lea, C. H.
  // Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a bijection, so that
  // seeds never collide.
  static constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x += kOdd;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  // FNV-1a, 64 bits (G. Fowler, L. C. Noll, K.-P. Vo).
  static constexpr std::uint64_t name_hash(std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const char c : name) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    }
    return hash;
  }

  std::uint64_t key_;
  std::uint64_t entity_;
  std::uint64_t position_ = 0;
  std::uint64_t second_ = 0;
};

}  // namespace ridgeline::core

#include "core/rng.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

std::vector<std::uint64_t> first_numbers(RngStream stream, int count) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < count; ++i) {
    numbers.push_back(stream.next_u64());
  }
  return numbers;
}

// The known answers that the authors of Philox publish (Random123, kat_vectors: philox4x32 10).
TEST(Philox, KnownAnswers) {
  using Counter = Philox::Counter;
  EXPECT_EQ(Philox::scramble({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      Philox::scramble({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Philox::scramble({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// From a second implementation, in Python, of key = mix(mix(mix(seed) + replication) +
// fnv1a(purpose)), with counter = (block, entity), two 64-bit numbers per block, low words first.
TEST(RngStream, NumbersArePinned) {
  EXPECT_EQ(first_numbers(RngStream(42, 0, "arrivals"), 5),
            (std::vector<std::uint64_t>{0xccaf808aa35f08ce,
                                        0x67774a472c01bf75,
                                        0xee4973e2ebba3673,
                                        0x654a434dededee28,
                                        0x27e17fe724cad07d}));
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(
      first_numbers(RngStream(kLargest, 3, "lengths", (std::uint64_t{1} << 40) + 7), 3),
      (std::vector<std::uint64_t>{0x7236b2e1799fbedd, 0xc01f9a0b3d87e0f9, 0x4b8610c66afcc2c8}));
}

TEST(RngStream, EveryPartOfTheNameCounts) {
  std::set<std::uint64_t> firsts;
  int names = 0;
  for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL, 1ULL << 63}) {
    for (const std::uint64_t replication : {0ULL, 1ULL, 2ULL}) {
      for (const char* purpose : {"", "a", "b", "ab", "ba"}) {
        for (const std::uint64_t entity : {0ULL, 1ULL, 1ULL << 32}) {
          firsts.insert(RngStream(seed, replication, purpose, entity).next_u64());
          ++names;
        }
      }
    }
  }
  EXPECT_EQ(firsts.size(), static_cast<std::size_t>(names));
}

TEST(RngStream, OneStreamDoesNotDisturbAnother) {
  RngStream alone(7, 0, "arrivals");
  RngStream among(7, 0, "arrivals");
  RngStream other(7, 0, "lengths");
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(other.next_u64());
    EXPECT_EQ(among.next_u64(), alone.next_u64());
    static_cast<void>(other.uniform());
  }
}

TEST(RngStream, PositionCountsDraws) {
  RngStream stream(1, 0, "position");
  EXPECT_EQ(stream.position(), 0U);
  static_cast<void>(stream.next_u64());
  static_cast<void>(stream.uniform());
  static_cast<void>(stream.below(1));
  EXPECT_EQ(stream.position(), 3U);
}

TEST(RngStream, UniformIsOpenAndCentred) {
  RngStream stream(1, 0, "uniform");
  constexpr int kDraws = 1'000'000;
  double sum = 0.0;
  double sum_squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform();
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    // An odd multiple of 2^-53.
    ASSERT_EQ(std::fmod(std::ldexp(u, 53), 2.0), 1.0);
    sum += u;
    sum_squares += u * u;
  }
  // Mean 1/2 with standard error sqrt(1/12/N) = 2.9e-4; mean square 1/3 with sqrt(4/45/N) = 3.0e-4.
  // Four of each.
  EXPECT_NEAR(sum / kDraws, 0.5, 1.2e-3);
  EXPECT_NEAR(sum_squares / kDraws, 1.0 / 3.0, 1.2e-3);
}

TEST(RngStream, BelowIsUniform) {
  RngStream stream(3, 0, "below");
  constexpr int kBins = 10;
  constexpr int kDraws = 100'000;
  std::array<int, kBins> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t drawn = stream.below(kBins);
    ASSERT_LT(drawn, static_cast<std::uint64_t>(kBins));
    ++counts[drawn];
  }
  double chi_squared = 0.0;
  for (const int count : counts) {
    const double excess = count - kDraws / kBins;
    chi_squared += excess * excess / (kDraws / kBins);
  }
  EXPECT_LT(chi_squared, 27.9);  // 99.9 % of chi squared with 9 degrees of freedom.
}

// For 3 * 2^62 numbers, multiply-and-shift alone would give every third one twice the chance of the
// others; the rejection must redraw a quarter of the time (2^64 mod n = 2^62) and so use 4/3 draws
// each.
TEST(RngStream, BelowRejectsWhatWouldBias) {
  RngStream stream(4, 0, "below");
  constexpr std::uint64_t kRange = std::uint64_t{3} << 62;
  constexpr int kDraws = 100'000;
  int divisible_by_three = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t drawn = stream.below(kRange);
    ASSERT_LT(drawn, kRange);
    divisible_by_three += drawn % 3 == 0 ? 1 : 0;
  }
  // Standard errors: sqrt(2/9 N) = 149 and sqrt(4/9 N) = 211.
  EXPECT_NEAR(divisible_by_three, kDraws / 3.0, 600.0);
  EXPECT_NEAR(static_cast<double>(stream.position()), kDraws * 4.0 / 3.0, 850.0);
}

TEST(RngStreamDeathTest, BelowZeroIsABug) {
  RngStream stream(1, 0, "below");
  EXPECT_DEATH(static_cast<void>(stream.below(0)), "no number below 0");
}

TEST(RngStream, ManyAreTheSameAsOneByOne) {
  for (std::size_t before = 0; before < 3; ++before) {
    for (std::size_t count = 0; count < 6; ++count) {
      RngStream singly(1, 2, "many");
      RngStream together(1, 2, "many");
      for (std::size_t i = 0; i < before; ++i) {
        EXPECT_EQ(singly.next_u64(), together.next_u64());
      }
      std::vector<double> numbers(count);
      together.uniform(numbers);
      for (const double number : numbers) {
        EXPECT_EQ(number, singly.uniform());
      }
      EXPECT_EQ(together.position(), singly.position());
      EXPECT_EQ(together.next_u64(), singly.next_u64()) << before << " then " << count;
    }
  }
}

}  // namespace
}  // namespace ridgeline::core

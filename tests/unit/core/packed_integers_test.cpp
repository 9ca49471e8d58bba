#include "core/packed_integers.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(PackedIntegers, GivesBackEveryMagnitude) {
  std::vector<std::int64_t> values = {
      0, 1, -1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    values.insert(values.end(), {power, -power, power - 1, power + 1});
  }
  PackedIntegers list;
  for (const std::int64_t value : values) {
    list.add(value);
  }
  PackedIntegers::Reader reader(list);
  for (const std::int64_t value : values) {
    EXPECT_EQ(reader.next(), value);
  }
}

TEST(PackedIntegers, NaturalsAndOthersStandSideBySide) {
  PackedIntegers list;
  for (int bit = 0; bit < 64; ++bit) {
    list.add_natural(std::uint64_t{1} << bit);
    list.add(-bit);
    list.add_natural((std::uint64_t{1} << bit) - 1);
  }
  PackedIntegers::Reader reader(list);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(reader.next_natural(), std::uint64_t{1} << bit);
    EXPECT_EQ(reader.next(), -bit);
    EXPECT_EQ(reader.next_natural(), (std::uint64_t{1} << bit) - 1);
  }
}

TEST(PackedIntegers, GoesOnBehindAPieceOfMemory) {
  // Values of one to nine bytes, more of them than any piece holds.
  constexpr std::int64_t kValues = 100'000;
  const auto value_at = [](std::int64_t i) { return (i % 2 == 0 ? 1 : -1) * (i << (i % 47)); };
  PackedIntegers list;
  for (std::int64_t i = 0; i < kValues; ++i) {
    list.add(value_at(i));
  }
  PackedIntegers::Reader reader(list);
  for (std::int64_t i = 0; i < kValues; ++i) {
    ASSERT_EQ(reader.next(), value_at(i));
  }
}

TEST(RunLengths, GivesBackWhatStaysAndWhatChanges) {
  const std::vector<std::int64_t> values = {7, 7, 7, -3, 0, 0, 7, 7, 9};
  RunLengths list;
  for (const std::int64_t value : values) {
    list.add(value);
  }
  RunLengths::Reader reader(list);
  for (const std::int64_t value : values) {
    EXPECT_EQ(reader.next(), value);
  }
}

}  // namespace
}  // namespace ridgeline::core

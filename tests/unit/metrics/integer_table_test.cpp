#include "metrics/integer_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "metrics/byte_slabs.hpp"

namespace ridgeline::metrics {
namespace {

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

using Columns = std::vector<std::vector<std::int64_t>>;

/// The columns of a table, read in the order of `wanted`.
template <std::size_t kWanted, std::size_t kColumns>
Columns read(const IntegerTable<kColumns>& table, const std::array<std::size_t, kWanted>& wanted) {
  Columns columns(kWanted);
  table.for_each_block(wanted, [&](const auto& values) {
    for (std::size_t i = 0; i < kWanted; ++i) {
      columns[i].insert(columns[i].end(), values[i].begin(), values[i].end());
    }
  });
  return columns;
}

/// Distances of 0 to 8 bytes, at the ends of each width; whole blocks and a part of one.
TEST(IntegerTable, GivesBackWhatWasPut) {
  for (const std::size_t rows : {std::size_t{0},
                                 std::size_t{1},
                                 kBlockRows - 1,
                                 kBlockRows,
                                 kBlockRows + 1,
                                 3 * kBlockRows + 7}) {
    for (unsigned bits = 0; bits <= 64; ++bits) {
      IntegerTable<2> table;
      Columns expected(2);
      const std::uint64_t widest = bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::uint64_t distance = i % 5 == 3 ? widest : widest / (i + 1);
        const auto value =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(kLowest) + distance);
        table.push_back({value, -7});
        expected[0].push_back(value);
        expected[1].push_back(-7);
      }
      ASSERT_EQ(table.size(), rows);
      ASSERT_EQ(read(table, std::array<std::size_t, 2>{0, 1}), expected) << bits << " bits";
    }
  }
}

TEST(IntegerTable, ReadsTheColumnsAskedFor) {
  IntegerTable<4> table;
  Columns expected(2);
  for (std::int64_t i = 0; i < 300; ++i) {
    table.push_back({i, 1'000'000 * i, i % 2 == 0 ? kLowest : kHighest, 5});
    expected[0].push_back(5);
    expected[1].push_back(1'000'000 * i);
  }
  EXPECT_EQ(read(table, std::array<std::size_t, 2>{3, 1}), expected);
}

TEST(IntegerTable, ShowsWhatIsNotPackedYetWithTheRest) {
  IntegerTable<1> table;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 2 * kBlockRows + 3; ++i) {
    table.push_back({0});
  }
  table.for_each_block(std::array<std::size_t, 1>{0},
                       [&](const auto& values) { sizes.push_back(values[0].size()); });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{kBlockRows, kBlockRows, 3}));
}

TEST(IntegerTableDeathTest, ABlockHasFewColumns) {
  const std::vector<ColumnValues> columns(kMostColumns + 1);
  ByteSlabs memory;
  EXPECT_DEATH(static_cast<void>(pack(columns, memory)), "too many columns");
}

}  // namespace
}  // namespace ridgeline::metrics

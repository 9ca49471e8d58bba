#include "serve/request_table.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>

#include <gtest/gtest.h>

namespace ridgeline::serve {
namespace {

TEST(RequestTable, FindsWhatIsInIt) {
  RequestTable<std::string> table;
  EXPECT_EQ(table.find(0), nullptr);
  table.insert(7, "seven");
  table.insert(23, "another of the same place");
  ASSERT_NE(table.find(23), nullptr);
  EXPECT_EQ(*table.find(7), "seven");
  EXPECT_EQ(table.take(7), "seven");
  EXPECT_EQ(table.find(7), nullptr);
  EXPECT_EQ(*table.find(23), "another of the same place");
  EXPECT_EQ(table.entries().size(), 1);
}

TEST(RequestTable, DoesAsAMapDoes) {
  std::mt19937 numbers(3);
  const auto draw = [&] { return static_cast<std::uint32_t>(numbers()); };
  RequestTable<std::uint32_t> table;
  std::unordered_map<std::uint32_t, std::uint32_t> map;
  std::uint32_t next = 0xFFFF'FF00;  // Numbers pass the end of their range.
  for (int i = 0; i < 200'000; ++i) {
    if (map.size() < 300 && draw() % 2 == 0) {
      next += 1 + (draw() % 8 == 0 ? draw() % 40 : 0);
      table.insert(next, next * 3);
      map[next] = next * 3;
    } else {
      const std::uint32_t number = next - draw() % 500;
      const auto found = map.find(number);
      const std::uint32_t* const value = table.find(number);
      ASSERT_EQ(value != nullptr, found != map.end());
      if (value != nullptr) {
        ASSERT_EQ(*value, found->second);
        ASSERT_EQ(table.take(number), found->second);
        map.erase(found);
      }
    }
  }
  EXPECT_EQ(table.entries().size(), map.size());
}

}  // namespace
}  // namespace ridgeline::serve

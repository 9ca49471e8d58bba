#include "core/digest.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

std::string digest_of(std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.hex();
}

// Known answers from the xxHash project's own test of XXH3 (empty input, seed 0), the others from
// its command `printf ... | xxhsum -H2`.
TEST(Digest, KnownAnswers) {
  EXPECT_EQ(Digest().hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of(std::as_bytes(std::span("abc", 3))), "06b05ab6733a618578af5f94892f3950");
  // printf '\x2a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff' | xxhsum -H2
  Digest numbers;
  numbers.add(42);
  numbers.add(-1);
  EXPECT_EQ(numbers.hex(), "6af595961f4f45140a110073995170fb");
}

TEST(Digest, WidthOfAnIntegerDoesNotMatter) {
  Digest narrow;
  narrow.add(static_cast<std::int8_t>(-5));
  narrow.add(static_cast<std::uint16_t>(7));
  Digest wide;
  wide.add(std::int64_t{-5});
  wide.add(std::uint64_t{7});
  EXPECT_EQ(narrow.hex(), wide.hex());
}

TEST(Digest, BufferingDoesNotShow) {
  // 1000 numbers, one call each, against their bytes in one call.
  Digest singly;
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t value = i * 0x9E3779B97F4A7C15;
    singly.add(value);
    for (int byte = 0; byte < 8; ++byte) {
      bytes.push_back(static_cast<std::byte>(value >> (8 * byte)));
    }
    if (i % 100 == 0) {
      static_cast<void>(singly.hex());  // Looking changes nothing.
    }
  }
  EXPECT_EQ(singly.hex(), digest_of(bytes));
}

TEST(Digest, TextsDoNotRunTogether) {
  std::set<std::string> seen;
  for (const auto& texts : std::vector<std::vector<std::string>>{{"ab", "c"},
                                                                 {"a", "bc"},
                                                                 {"abc"},
                                                                 {"", "abc"},
                                                                 {"abc", ""},
                                                                 {std::string("a\0b", 3)},
                                                                 {"a"}}) {
    Digest digest;
    for (const std::string& text : texts) {
      digest.add(text);
    }
    EXPECT_EQ(digest.hex().size(), 32U);
    seen.insert(digest.hex());
  }
  EXPECT_EQ(seen.size(), 7U);
}

TEST(Digest, Moves) {
  Digest first;
  first.add("some text");
  const std::string before = first.hex();
  Digest second = std::move(first);
  EXPECT_EQ(second.hex(), before);
  Digest third;
  third = std::move(second);
  EXPECT_EQ(third.hex(), before);
}

}  // namespace
}  // namespace ridgeline::core

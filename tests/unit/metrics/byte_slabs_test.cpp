#include "metrics/byte_slabs.hpp"

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::metrics {
namespace {

/// Pieces of some sizes, each filled with a byte of its own.
std::vector<std::pair<std::byte*, std::size_t>> filled(ByteSlabs& slabs) {
  std::vector<std::pair<std::byte*, std::size_t>> pieces;
  // Less than a slab, more than the first, the rest of one, and more than a huge page.
  for (const std::size_t bytes : {100UL, 20'000UL, 1UL, 700'000UL, 3'000'000UL, 5UL, 700'000UL}) {
    pieces.emplace_back(slabs.take(bytes), bytes);
    std::memset(pieces.back().first, static_cast<int>(pieces.size()), bytes);
  }
  return pieces;
}

TEST(ByteSlabs, PiecesDoNotOverlapAndStayWhereTheyAre) {
  ByteSlabs slabs;
  const auto pieces = filled(slabs);
  const ByteSlabs moved = std::move(slabs);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto [piece, bytes] = pieces[i];
    EXPECT_EQ(piece[0], std::byte(i + 1));
    EXPECT_EQ(std::memcmp(piece, piece + 1, bytes - 1), 0) << "all bytes of piece " << i;
  }
}

}  // namespace
}  // namespace ridgeline::metrics

#include "core/piece_arena.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/huge_pages.hpp"
#include "core/packed_blocks.hpp"

namespace ridgeline::core {
namespace {

/// As many as fill all small regions and several huge pages.
constexpr std::size_t kMany = 600;

TEST(PieceArena, PiecesLieApart) {
  PieceArena arena;
  std::vector<std::byte*> pieces;
  for (std::size_t i = 0; i < kMany; ++i) {
    pieces.push_back(arena.take());
    std::fill_n(pieces.back(), PieceArena::kPiece, static_cast<std::byte>(i));
  }
  for (std::size_t i = 0; i < kMany; ++i) {
    const auto is_mine = [i](std::byte byte) { return byte == static_cast<std::byte>(i); };
    EXPECT_TRUE(std::all_of(pieces[i], pieces[i] + PieceArena::kPiece, is_mine)) << i;
  }
}

TEST(PieceArena, ManyPiecesFillHugePages) {
  PieceArena arena;
  std::size_t begin_one = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    begin_one += reinterpret_cast<std::uintptr_t>(arena.take()) % kHugePage == 0 ? 1U : 0U;
  }
  // All but those in small regions, of which there is no more than a huge page.
  constexpr std::size_t kPerHugePage = kHugePage / PieceArena::kPiece;
  EXPECT_GE(begin_one, kMany / kPerHugePage - 1);
}

TEST(PieceArena, ListsMayShareIt) {
  const auto arena = std::make_shared<PieceArena>();
  PackedBlocks odd(arena);
  PackedBlocks even(arena);
  // Eight bytes a value, so that each list takes many pieces, in turn with the other.
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  constexpr std::int64_t kBlocks = 60'000;
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    odd.add(std::vector<std::int64_t>{2 * i + 1, kFar, -i});
    even.add(std::vector<std::int64_t>{2 * i, kFar, -i, i});
  }
  PackedBlocks::Reader odds(odd);
  PackedBlocks::Reader evens(even);
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    std::vector<std::int64_t> three(3);
    odds.next(three);
    EXPECT_EQ(three, (std::vector<std::int64_t>{2 * i + 1, kFar, -i}));
    std::vector<std::int64_t> four(4);
    evens.next(four);
    EXPECT_EQ(four, (std::vector<std::int64_t>{2 * i, kFar, -i, i}));
  }
}

}  // namespace
}  // namespace ridgeline::core

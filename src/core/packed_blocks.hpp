#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/overflow.hpp"
#include "core/piece_arena.hpp"

namespace ridgeline::core {

/// Blocks of integers to be read from the beginning: each block as its least value and, for each of
/// its values, how far above that it is, in as many bytes as the farthest of the block needs
/// ("frame of reference"). Equal values take no bytes at all; where a value stands does not depend
/// on those before it, so that a processor reads many at a time.
class PackedBlocks {
 public:
  static constexpr std::size_t kMostValues = 64;

  /// Where several lists grow together, they may share an arena.
  explicit PackedBlocks(std::shared_ptr<PieceArena> arena = std::make_shared<PieceArena>())
      : arena_(std::move(arena)) {}

  /// 1 to kMostValues values (checked).
  void add(std::span<const std::int64_t> values) {
    RIDGELINE_CHECK(!values.empty() && values.size() <= kMostValues, "size of a block");
    if (used_ > kChunk - kLongest) [[unlikely]] {
      chunks_.push_back(arena_->take());
      used_ = 0;
    }
    std::byte* place = chunks_.back() + used_;
    // What is the same everywhere is common, and seen at once.
    std::int64_t least = values.front();
    if (values.back() == least && are_equal(values)) {
      *place = std::byte{0};
      std::memcpy(place + 1, &least, sizeof(least));
      used_ += kHeader;
      return;
    }
    std::int64_t greatest = least;
    for (const std::int64_t value : values) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    const std::size_t bytes = bytes_for(distance(least, greatest));
    *place = static_cast<std::byte>(bytes);
    std::memcpy(place + 1, &least, sizeof(least));
    place += kHeader;
    for (const std::int64_t value : values) {
      const std::uint64_t above = distance(least, value);
      std::memcpy(place, &above, sizeof(above));  // The next one overwrites what is too much.
      place += bytes;
    }
    used_ += kHeader + bytes * values.size();
  }

  /// Reads in the order of add(). The list outlives it, and is not added to meanwhile.
  class Reader {
   public:
    explicit Reader(const PackedBlocks& list) : list_(list) {}

    /// The next block, into as many values as it had; or of each `stride` values the first, where
    /// it had as many times as many.
    void next(std::span<std::int64_t> values, std::size_t stride = 1) {
      const std::byte* place = begin();
      const auto bytes = std::to_integer<std::size_t>(*place);
      std::int64_t least = 0;
      std::memcpy(&least, place + 1, sizeof(least));
      place += kHeader;
      at_ += kHeader + bytes * values.size() * stride;
      if (bytes == 0) {
        std::fill(values.begin(), values.end(), least);
        return;
      }
      const std::uint64_t mask = ~std::uint64_t{0} >> (kBits * (sizeof(mask) - bytes));
      for (std::int64_t& value : values) {
        std::uint64_t above = 0;
        std::memcpy(&above, place, sizeof(above));
        value = shifted(least, above & mask);
        place += bytes * stride;
      }
    }
    /// Passes over a block of as many values.
    void skip(std::size_t values) {
      at_ += kHeader + std::to_integer<std::size_t>(*begin()) * values;
    }

   private:
    const std::byte* begin() {
      if (at_ > kChunk - kLongest) {
        here_ = list_.chunks_[chunk_++];
        at_ = 0;
      }
      return here_ + at_;
    }

    const PackedBlocks& list_;
    std::size_t chunk_ = 0;  ///< The next one.
    const std::byte* here_ = nullptr;
    std::size_t at_ = kChunk;
  };

 private:
  static constexpr std::size_t kBits = 8;
  static constexpr std::size_t kHeader = 1 + sizeof(std::int64_t);
  static constexpr std::size_t kLongest = kHeader + kMostValues * sizeof(std::int64_t);
  /// Values are written and read eight bytes at a time, some of them beyond the block.
  static constexpr std::size_t kChunk = PieceArena::kPiece - sizeof(std::uint64_t);
  static_assert(std::endian::native == std::endian::little);

  static bool are_equal(std::span<const std::int64_t> values) {
    const auto expected = static_cast<std::uint64_t>(values.front());
    std::uint64_t differences = 0;
    for (const std::int64_t value : values) {
      differences |= static_cast<std::uint64_t>(value) ^ expected;
    }
    return differences == 0;
  }
  static std::size_t bytes_for(std::uint64_t most) {
    return (static_cast<std::size_t>(std::bit_width(most)) + kBits - 1) / kBits;
  }

  std::shared_ptr<PieceArena> arena_;
  std::vector<std::byte*> chunks_;
  std::size_t used_ = kChunk;  ///< Of the last of them.
};

}  // namespace ridgeline::core

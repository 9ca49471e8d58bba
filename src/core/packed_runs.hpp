#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/packed_blocks.hpp"
#include "core/piece_arena.hpp"
#include "core/run_columns.hpp"

namespace ridgeline::core {

/// A list of runs in some ten bytes each, to be read from the beginning: blocks of them, in each
/// the first values as PackedBlocks has them, and the rest of a run as one number of as many bits
/// as the block's growths, counts and repeats need.
class PackedRuns {
 public:
  explicit PackedRuns(std::shared_ptr<PieceArena> arena = std::make_shared<PieceArena>())
      : columns_(std::move(arena)) {}

  /// At least one run. Requires counts and repeats of 1 to 2^32 - 1.
  void add(const RunColumns& runs) {
    std::uint64_t growths = 0;
    std::uint64_t counts = 0;
    std::uint64_t repeats = 0;
    for (std::size_t i = 0; i < runs.size; ++i) {
      growths |= zigzag(runs.growth[i]);
      counts |= static_cast<std::uint64_t>(runs.count[i]);
      repeats |= static_cast<std::uint64_t>(runs.repeat[i]);
    }
    Shape shape{.size = static_cast<std::uint8_t>(runs.size),
                .growth_bits = width(growths),
                .count_bits = width(counts),
                .repeat_bits = width(repeats)};
    columns_.add({runs.first.data(), runs.size});
    if (shape.growth_bits + shape.count_bits + shape.repeat_bits < kWordBits) [[likely]] {
      RunColumns::Column words;
      for (std::size_t i = 0; i < runs.size; ++i) {
        words[i] = static_cast<std::int64_t>((((zigzag(runs.growth[i]) << shape.count_bits) |
                                               static_cast<std::uint64_t>(runs.count[i]))
                                              << shape.repeat_bits) |
                                             static_cast<std::uint64_t>(runs.repeat[i]));
      }
      columns_.add({words.data(), runs.size});
    } else {
      shape.growth_bits = kApart;
      columns_.add({runs.growth.data(), runs.size});
      columns_.add({runs.count.data(), runs.size});
      columns_.add({runs.repeat.data(), runs.size});
    }
    shapes_.push_back(shape);
    size_ += runs.size;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls visit(runs) for each block, in the order of add().
  template <class Visitor>
  void for_each_block(Visitor&& visit) const {
    PackedBlocks::Reader columns(columns_);
    RunColumns runs;
    for (const Shape& shape : shapes_) {
      runs.size = shape.size;
      columns.next({runs.first.data(), runs.size});
      if (shape.growth_bits != kApart) [[likely]] {
        read_words(shape, columns, runs);
      } else {
        columns.next({runs.growth.data(), runs.size});
        columns.next({runs.count.data(), runs.size});
        columns.next({runs.repeat.data(), runs.size});
      }
      visit(static_cast<const RunColumns&>(runs));
    }
  }

 private:
  struct Shape {
    std::uint8_t size = 0;
    std::uint8_t growth_bits = 0;  ///< kApart: each number of a run has a column of its own.
    std::uint8_t count_bits = 0;
    std::uint8_t repeat_bits = 0;
  };
  static constexpr int kWordBits = 64;
  static constexpr std::uint8_t kApart = 255;

  /// Small magnitudes become small numbers.
  static constexpr std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
  }
  static constexpr std::int64_t unzigzag(std::uint64_t code) {
    return static_cast<std::int64_t>((code >> 1U) ^ (0 - (code & 1U)));
  }
  static std::uint8_t width(std::uint64_t number) {
    return static_cast<std::uint8_t>(std::bit_width(number));
  }
  static void read_words(const Shape& shape, PackedBlocks::Reader& columns, RunColumns& runs) {
    const auto mask = [](unsigned bits) { return (std::uint64_t{1} << bits) - 1; };
    const unsigned count_at = shape.repeat_bits;
    const unsigned growth_at = count_at + shape.count_bits;
    const std::uint64_t counts = mask(shape.count_bits);
    const std::uint64_t repeats = mask(shape.repeat_bits);
    columns.next({runs.growth.data(), runs.size});
    for (std::size_t i = 0; i < runs.size; ++i) {
      const auto word = static_cast<std::uint64_t>(runs.growth[i]);
      runs.growth[i] = unzigzag(word >> growth_at);
      runs.count[i] = static_cast<std::int64_t>((word >> count_at) & counts);
      runs.repeat[i] = static_cast<std::int64_t>(word & repeats);
    }
  }

  PackedBlocks columns_;
  std::vector<Shape> shapes_;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::core

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "metrics/byte_slabs.hpp"

namespace ridgeline::metrics {

/// How many rows of a table are packed together.
inline constexpr std::size_t kBlockRows = 128;
inline constexpr std::size_t kMostColumns = 8;
/// The values of those rows in one column.
using ColumnValues = std::array<std::int64_t, kBlockRows>;
using PackedBlock = const std::byte*;

/// Packs one block: of each column the least value and, for each row, the distance to it in as many
/// bytes as the largest distance of the column needs ("frame of reference"). A column of equal
/// values needs none. The block stands in `memory`.
[[nodiscard]] PackedBlock pack(std::span<const ColumnValues> columns, ByteSlabs& memory);
/// Reads column number `column` of a block that pack() made of `num_columns` columns.
void unpack(PackedBlock block, std::size_t num_columns, std::size_t column, ColumnValues& values);

/// Rows of integers, kept in a few bytes per row. Rows are appended, and read from the first to the
/// last.
template <std::size_t Columns>
class IntegerTable {
  static_assert(Columns <= kMostColumns);

 public:
  void push_back(const std::array<std::int64_t, Columns>& row) {
    for (std::size_t c = 0; c < Columns; ++c) {
      last_[c][num_last_] = row[c];
    }
    if (++num_last_ == kBlockRows) [[unlikely]] {
      packed_.push_back(pack(last_, memory_));
      num_last_ = 0;
    }
  }
  [[nodiscard]] std::size_t size() const { return packed_.size() * kBlockRows + num_last_; }

  /// Calls visit(values) for some rows after some, where values[i] holds those of column wanted[i]
  /// as a span. The spans are valid during the call.
  template <std::size_t Wanted, class Visitor>
  void for_each_block(const std::array<std::size_t, Wanted>& wanted, Visitor&& visit) const {
    std::array<std::span<const std::int64_t>, Wanted> values;
    std::array<ColumnValues, Wanted> unpacked;
    for (const PackedBlock block : packed_) {
      for (std::size_t i = 0; i < Wanted; ++i) {
        unpack(block, Columns, wanted[i], unpacked[i]);
        values[i] = unpacked[i];
      }
      visit(std::as_const(values));
    }
    if (num_last_ > 0) {
      for (std::size_t i = 0; i < Wanted; ++i) {
        values[i] = {last_[wanted[i]].data(), num_last_};
      }
      visit(std::as_const(values));
    }
  }

 private:
  ByteSlabs memory_;
  std::vector<PackedBlock> packed_;
  std::array<ColumnValues, Columns> last_{};  ///< The rows that are not packed yet.
  std::size_t num_last_ = 0;
};

}  // namespace ridgeline::metrics

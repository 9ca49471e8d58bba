#include "metrics/integer_table.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/check.hpp"
#include "core/statistics/overflow.hpp"
#include "metrics/byte_slabs.hpp"

namespace ridgeline::metrics {
namespace {

/// What a block says of a column: the least value, and how many bytes each distance to it takes.
struct ColumnHeader {
  std::int64_t least = 0;
  std::uint64_t width = 0;
};
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kBitsPerByte = 8;
/// Distances are written and read as whole words, low byte first, of which the next distance
/// overwrites the bytes that are too many.
static_assert(std::endian::native == std::endian::little);

ColumnHeader header_of(const ColumnValues& values) {
  std::int64_t least = values[0];
  std::int64_t greatest = values[0];
  for (const std::int64_t value : values) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  }
  const auto bits = static_cast<std::size_t>(std::bit_width(statistics::distance(least, greatest)));
  return {.least = least, .width = (bits + kBitsPerByte - 1) / kBitsPerByte};
}

ColumnHeader read_header(PackedBlock block, std::size_t column) {
  ColumnHeader header;
  std::memcpy(&header, block + column * sizeof(header), sizeof(header));
  return header;
}

}  // namespace

PackedBlock pack(std::span<const ColumnValues> columns, ByteSlabs& memory) {
  std::array<ColumnHeader, kMostColumns> headers;
  RIDGELINE_CHECK(columns.size() <= headers.size(), "too many columns of a packed block");
  const std::size_t header_bytes = columns.size() * sizeof(ColumnHeader);
  std::size_t bytes = header_bytes + kWord;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    headers[c] = header_of(columns[c]);
    bytes += headers[c].width * kBlockRows;
  }
  std::byte* const block = memory.take(bytes);
  std::memcpy(block, headers.data(), header_bytes);
  std::byte* place = block + header_bytes;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto [least, width] = headers[c];
    if (width == 0) {
      continue;
    }
    for (const std::int64_t value : columns[c]) {
      const std::uint64_t distance = statistics::distance(least, value);
      std::memcpy(place, &distance, kWord);
      place += width;
    }
  }
  return block;
}

void unpack(PackedBlock block, std::size_t num_columns, std::size_t column, ColumnValues& values) {
  const std::byte* place = block + num_columns * sizeof(ColumnHeader);
  for (std::size_t c = 0; c < column; ++c) {
    place += read_header(block, c).width * kBlockRows;
  }
  const ColumnHeader header = read_header(block, column);
  if (header.width == 0) {
    values.fill(header.least);
    return;
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> (kBitsPerByte * (kWord - header.width));
  for (std::int64_t& value : values) {
    std::uint64_t distance = 0;
    std::memcpy(&distance, place, kWord);
    value = statistics::shifted(header.least, distance & mask);
    place += header.width;
  }
}

}  // namespace ridgeline::metrics

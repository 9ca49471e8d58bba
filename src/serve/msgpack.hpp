#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace ridgeline::serve {

/// Writes MessagePack (the format's specification, 2017-08): of each kind of value the shortest
/// form that holds it, as vLLM's msgspec does.
class MsgpackWriter {
 public:
  /// The next `size` values are its items.
  void array(std::size_t size) {
    if (size <= kMostInByte) {
      put(static_cast<std::uint8_t>(0x90U | size));
    } else if (size <= std::numeric_limits<std::uint16_t>::max()) {
      put(0xdc);
      big_endian(static_cast<std::uint16_t>(size));
    } else {
      put(0xdd);
      big_endian(static_cast<std::uint32_t>(size));
    }
  }
  void nil() { put(0xc0); }
  void number(std::uint64_t value) {
    if (value <= 0x7f) {
      put(static_cast<std::uint8_t>(value));
    } else if (value <= std::numeric_limits<std::uint8_t>::max()) {
      put(0xcc);
      big_endian(static_cast<std::uint8_t>(value));
    } else if (value <= std::numeric_limits<std::uint16_t>::max()) {
      put(0xcd);
      big_endian(static_cast<std::uint16_t>(value));
    } else if (value <= std::numeric_limits<std::uint32_t>::max()) {
      put(0xce);
      big_endian(static_cast<std::uint32_t>(value));
    } else {
      put(0xcf);
      big_endian(value);
    }
  }
  void real(double value) {
    put(0xcb);
    big_endian(std::bit_cast<std::uint64_t>(value));
  }
  /// UTF-8, of less than 2^32 bytes.
  void text(std::string_view value) {
    constexpr std::size_t kMostInTextByte = 31;
    if (value.size() <= kMostInTextByte) {
      put(static_cast<std::uint8_t>(0xa0U | value.size()));
    } else if (value.size() <= std::numeric_limits<std::uint8_t>::max()) {
      put(0xd9);
      big_endian(static_cast<std::uint8_t>(value.size()));
    } else if (value.size() <= std::numeric_limits<std::uint16_t>::max()) {
      put(0xda);
      big_endian(static_cast<std::uint16_t>(value.size()));
    } else {
      put(0xdb);
      big_endian(static_cast<std::uint32_t>(value.size()));
    }
    bytes_ += value;
  }
  /// Values that were written elsewhere.
  void raw(std::string_view values) { bytes_ += values; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  static constexpr std::size_t kMostInByte =
      15;  ///< Items of an array whose size stands in its tag.

  void put(std::uint8_t byte) { bytes_ += static_cast<char>(byte); }
  template <class Unsigned>
  void big_endian(Unsigned value) {
    constexpr int kBits = 8;
    for (int shift = kBits * (static_cast<int>(sizeof(Unsigned)) - 1); shift >= 0; shift -= kBits) {
      put(static_cast<std::uint8_t>(std::uint64_t{value} >> static_cast<unsigned>(shift)));
    }
  }

  std::string bytes_;
};

}  // namespace ridgeline::serve

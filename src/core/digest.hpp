#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ridgeline::core {

/// A 128-bit digest (XXH3 of Y. Collet's xxHash) of a sequence of numbers and texts: the same on
/// every machine. Not cryptographic.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  /// As 64 bits: eight bytes, little-endian, negative numbers in two's complement.
  template <std::integral Integer>
  void add(Integer value) {
    const auto bits = static_cast<std::uint64_t>(value);
    if (used_ + sizeof bits > kBufferBytes) {
      flush();
    }
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(buffer_.data() + used_, &bits, sizeof bits);
    } else {
      for (std::size_t i = 0; i < sizeof bits; ++i) {
        buffer_[used_ + i] = static_cast<std::byte>(bits >> (8 * i));
      }
    }
    used_ += sizeof bits;
  }
  /// Its length as a number, then its bytes: "ab", "c" differs from "a", "bc".
  void add(std::string_view text);
  /// The bytes alone.
  void add(std::span<const std::byte> bytes);

  /// 32 hexadecimal digits, as `xxhsum -H2` prints them. More can be added afterwards.
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  static constexpr std::size_t kBufferBytes = 512;

  void flush();

  std::unique_ptr<State> state_;
  std::size_t used_ = 0;
  std::array<std::byte, kBufferBytes> buffer_{};  ///< Spares a library call per number.
};

}  // namespace ridgeline::core

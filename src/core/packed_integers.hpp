#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace ridgeline::core {

/// A list of integers in as many bytes as each needs, to be read from the beginning: one for
/// magnitudes below 64, one more for every seven bits. For what is kept per request.
///
/// A value is zigzag coded (small magnitudes become small numbers), if it may be negative, and
/// stands in n bytes whose lowest bits are n - 1 zeros and a one, so that its length is known from
/// the first byte; what exceeds 56 bits stands in eight bytes behind one of zeros.
class PackedIntegers {
 public:
  void add(std::int64_t value) {
    put((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
  }
  /// One that is never negative, in a bit less; to be read by next_natural().
  void add_natural(std::uint64_t value) { put(value); }

 private:
  [[gnu::always_inline]] void put(std::uint64_t code) {
    if (used_ > kChunk - kLongest) [[unlikely]] {
      chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
      here_ = chunks_.back()->data();
      used_ = 0;
    }
    std::byte* const place = here_ + used_;
    const auto bits = static_cast<std::size_t>(std::bit_width(code | 1U));
    const std::size_t bytes = bytes_for(bits);
    if (bytes < kLongest) {
      const std::uint64_t word = ((code << 1U) | 1U) << (bytes - 1);
      std::memcpy(place, &word, sizeof(word));
      used_ += bytes;
    } else {
      *place = std::byte{0};
      std::memcpy(place + 1, &code, sizeof(code));
      used_ += kLongest;
    }
  }

 public:
  /// Reads in the order of add(). The list outlives it, and is not added to meanwhile.
  class Reader {
   public:
    explicit Reader(const PackedIntegers& list) : list_(list) {}

    /// To be called once for each value.
    [[gnu::always_inline]] std::int64_t next() {
      const std::uint64_t code = next_natural();
      return static_cast<std::int64_t>(code >> 1U) ^ -static_cast<std::int64_t>(code & 1U);
    }
    [[gnu::always_inline]] std::uint64_t next_natural() {
      if (at_ > kChunk - kLongest) {
        here_ = list_.chunks_[chunk_++]->data();
        at_ = 0;
      }
      const std::byte* const place = here_ + at_;
      std::uint64_t code = 0;
      std::memcpy(&code, place, sizeof(code));
      if ((code & 0xffU) != 0) {
        const auto bytes = static_cast<std::size_t>(std::countr_zero(code)) + 1;
        code = (code >> bytes) & ((std::uint64_t{1} << (kBits * bytes)) - 1);
        at_ += bytes;
      } else {
        std::memcpy(&code, place + 1, sizeof(code));
        at_ += kLongest;
      }
      return code;
    }

   private:
    const PackedIntegers& list_;
    std::size_t chunk_ = 0;  ///< The next one.
    const std::byte* here_ = nullptr;
    std::size_t at_ = kChunk;
  };

 private:
  static constexpr std::size_t kBits = 7;
  static constexpr std::size_t kLongest = 9;
  /// bits / 7, rounded up, for 1 to 64 bits: without a division, as it is needed for each value.
  static constexpr std::size_t bytes_for(std::size_t bits) { return (bits * 9 + 64) / 64; }
  static constexpr std::size_t kChunk = std::size_t{4} * 1024;
  using Chunk = std::array<std::byte, kChunk>;
  static_assert(std::endian::native == std::endian::little);

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::byte* here_ = nullptr;  ///< The last of them.
  std::size_t used_ = kChunk;
};

/// A list of integers that seldom change from one to the next, as runs of equal ones.
class RunLengths {
 public:
  void add(std::int64_t value) {
    if (count_ == 0 || value != value_) {
      finish();
      value_ = value;
      count_ = 0;
    }
    ++count_;
  }

  /// As PackedIntegers::Reader.
  class Reader {
   public:
    explicit Reader(const RunLengths& list) : list_(list), runs_(list.runs_) {}

    std::int64_t next() {
      if (left_ == 0) {
        const bool packed = run_ < list_.num_runs_;
        ++run_;
        value_ = packed ? runs_.next() : list_.value_;
        left_ = packed ? runs_.next() : list_.count_;
      }
      --left_;
      return value_;
    }

   private:
    const RunLengths& list_;
    PackedIntegers::Reader runs_;
    std::int64_t run_ = 0;
    std::int64_t value_ = 0;
    std::int64_t left_ = 0;
  };

 private:
  void finish() {
    if (count_ > 0) {
      runs_.add(value_);
      runs_.add(count_);
      ++num_runs_;
    }
  }

  PackedIntegers runs_;  ///< All but the last.
  std::int64_t num_runs_ = 0;
  std::int64_t value_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace ridgeline::core

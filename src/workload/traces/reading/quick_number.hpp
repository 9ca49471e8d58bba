#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ridgeline::workload {

/// Reading the usual forms of rows without a branch per character. Everything here may say no to
/// what is sound: that is read the long way, which also finds the words for what is not.
///
/// Whatever is read this way must be followed by as many readable bytes.
inline constexpr std::size_t kQuickSlack = 64;

/// Whether `size` bytes are equal; for texts too short for a call of memcmp to pay.
[[nodiscard]] inline bool same_bytes(const char* left, const char* right, std::size_t size) {
  const auto word_at = [](const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size < kWord) {
    std::size_t i = 0;
    while (i < size && left[i] == right[i]) {
      ++i;
    }
    return i == size;
  }
  for (std::size_t i = 0; i + kWord < size; i += kWord) {
    if (word_at(left + i) != word_at(right + i)) {
      return false;
    }
  }
  return word_at(left + size - kWord) == word_at(right + size - kWord);
}

/// Where the next line begins if a line ends at `at`, before `end`; null if not.
[[nodiscard]] inline const char* line_end(const char* at, const char* end) {
  at += *at == '\r' ? 1 : 0;
  return at < end && *at == '\n' ? at + 1 : nullptr;
}

/// Where a CSV cell without quotes, in ASCII, ends; null for another.
[[nodiscard]] inline const char* cell_end(const char* at, const char* end) {
  constexpr unsigned char kLastAscii = 0x7F;
  while (at < end && *at != ',' && *at != '\n' && *at != '\r') {
    if (*at == '"' || static_cast<unsigned char>(*at) > kLastAscii) {
      return nullptr;
    }
    ++at;
  }
  return at;
}

/// A plain decimal number: digits x 10^-decimals, in `size` bytes. Size 0: read it the long way.
struct QuickNumber {
  std::int64_t digits = 0;
  int decimals = 0;
  std::size_t size = 0;
};

/// Eight characters at once, as D. Lemire's "Quickly parsing eight digits" (2018) sums them.
struct EightCharacters {
  explicit EightCharacters(const char* at) {
    std::memcpy(&values, at, sizeof values);
    values ^= 0x3030303030303030U;
    others = ((values + 0x7676767676767676U) | values) & 0x8080808080808080U;
  }
  /// How many digits there are in front.
  [[nodiscard]] std::size_t digits() const {
    return static_cast<std::size_t>(std::countr_zero(others)) / 8;
  }
  /// The values of the first `count` of them, 1 to 8, at the end of a word of zeros.
  [[nodiscard]] std::uint64_t last_digits(std::size_t count) const {
    return values << (8 * (sizeof values - count));
  }
  /// The number that the first `count` digits write; count is 1 to 8.
  [[nodiscard]] std::int64_t number(std::size_t count) const {
    // Pairs, fours and all eight: each step adds the left neighbour times a power of ten.
    std::uint64_t sum = last_digits(count);
    sum = ((sum * (10U * 0x100U + 1)) >> 8U) & 0x00FF00FF00FF00FFU;
    sum = ((sum * (100U * 0x10000U + 1)) >> 16U) & 0x0000FFFF0000FFFFU;
    sum = (sum * (10'000U * 0x100000000U + 1)) >> 32U;
    return static_cast<std::int64_t>(sum);
  }

  std::uint64_t values = 0;
  std::uint64_t others = 0;  ///< The high bit of each byte that is no digit, from the first one on.
};

/// Whether the order of bytes is the one that these functions are written for.
inline constexpr bool kReadsQuickly = std::endian::native == std::endian::little;

/// Reads one to seven digits; -1 where there are none or more. `at` goes behind them.
[[nodiscard, gnu::always_inline]] inline std::int64_t quick_count(const char*& at) {
  const EightCharacters characters(at);
  const std::size_t size = characters.digits();
  if (!kReadsQuickly || size == 0 || size == sizeof characters.values) [[unlikely]] {
    return -1;
  }
  at += size;
  return characters.number(size);
}

/// 10^0 to 10^7; not in the function, where it would be copied to the stack in each call.
inline constexpr std::array<std::int64_t, 8> kPowersToSeven = {
    1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000};

/// Reads digits, optionally with a point and digits behind it, without a loop over them: at most 15
/// before the point and 7 behind it, and at most 18 in all.
[[nodiscard, gnu::always_inline]] inline QuickNumber quick_number(const char* at) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  constexpr std::size_t kMostDigits = 18;  // int64 has room for any of these.
  const EightCharacters first(at);
  std::size_t size = first.digits();
  if (!kReadsQuickly || size == 0) [[unlikely]] {
    return {};
  }
  std::int64_t number = first.number(size);
  if (size == kWord) [[unlikely]] {
    const EightCharacters second(at + kWord);
    const std::size_t more = second.digits();
    if (more == kWord) {
      return {};
    }
    number = more == 0 ? number : number * kPowersToSeven[more] + second.number(more);
    size += more;
  }
  if (at[size] != '.') {
    return {.digits = number, .size = size};
  }
  const EightCharacters behind(at + size + 1);
  const std::size_t decimals = behind.digits();
  if (decimals == 0 || decimals == kWord || size + decimals > kMostDigits) [[unlikely]] {
    return {};
  }
  return {.digits = number * kPowersToSeven[decimals] + behind.number(decimals),
          .decimals = static_cast<int>(decimals),
          .size = size + 1 + decimals};
}

}  // namespace ridgeline::workload

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workload/traces/reading/quick_number.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ridgeline::workload {

/// The most digits of a number of FourNumbers.
inline constexpr std::size_t kMostOfFour = 8;

/// The `size` characters from `at` on, 1 to kMostOfFour of them, as FourNumbers takes them.
[[nodiscard, gnu::always_inline]] inline std::uint64_t as_last_digits(const char* at,
                                                                      std::size_t size) {
  return EightCharacters(at).last_digits(size);
}

/// Where the digits of a time stand, as FourNumbers takes them: those before the point and those
/// behind it.
struct QuickTime {
  std::uint64_t whole = 0;
  std::uint64_t decimals = 0;
  std::size_t decimal_count = 0;
};

/// Finds a time of one to seven digits before and none to seven behind a point; returns where it
/// ends, or null.
[[nodiscard, gnu::always_inline]] inline const char* find_quick_time(const char* at,
                                                                     QuickTime& time) {
  const EightCharacters whole(at);
  const std::size_t size = whole.digits();
  if (size - 1 >= kMostOfFour - 1) [[unlikely]] {
    return nullptr;
  }
  time.whole = whole.last_digits(size);
  at += size;
  if (*at != '.') {
    time.decimals = 0;
    time.decimal_count = 0;
    return at;
  }
  const EightCharacters decimals(at + 1);
  time.decimal_count = decimals.digits();
  if (time.decimal_count - 1 >= kMostOfFour - 1) [[unlikely]] {
    return nullptr;
  }
  time.decimals = decimals.last_digits(time.decimal_count);
  return at + 1 + time.decimal_count;
}

/// Finds a number of one to seven digits; returns where it ends, or null.
[[nodiscard, gnu::always_inline]] inline const char* find_quick_count(const char* at,
                                                                      std::uint64_t& digits) {
  const EightCharacters characters(at);
  const std::size_t size = characters.digits();
  if (size - 1 >= kMostOfFour - 1) [[unlikely]] {
    return nullptr;
  }
  digits = characters.last_digits(size);
  return at + size;
}

/// Four numbers of at most eight digits, read side by side.
class FourNumbers {
 public:
  [[gnu::always_inline]] explicit FourNumbers(const std::array<std::uint64_t, 4>& texts) {
#if defined(__SSE2__)
    const __m128i front = pair_of(texts[0], texts[1]);
    const __m128i back = pair_of(texts[2], texts[3]);
    const __m128i nine = _mm_set1_epi8(9);
    const __m128i beyond = _mm_or_si128(_mm_subs_epu8(front, nine), _mm_subs_epu8(back, nine));
    sound_ = _mm_movemask_epi8(_mm_cmpeq_epi8(beyond, _mm_setzero_si128())) == 0xFFFF;
    // Eight fours of digits, then four eights.
    const __m128i fours = _mm_packs_epi32(fours_of(front), fours_of(back));
    const __m128i eights = _mm_madd_epi16(fours, _mm_set1_epi32(0x0001'0000 | 10'000));
    _mm_store_si128(reinterpret_cast<__m128i*>(numbers_.data()), eights);
#else
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::uint32_t number = 0;
      for (std::uint64_t rest = texts[i], byte = 0; byte < kMostOfFour; ++byte, rest >>= 8U) {
        sound_ = sound_ && (rest & 0xFFU) <= 9;
        number = number * 10 + (rest & 0xFFU);
      }
      numbers_[i] = number;
    }
#endif
  }

  /// Whether there were digits alone.
  [[nodiscard]] bool sound() const { return sound_; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return numbers_[i]; }

 private:
#if defined(__SSE2__)
  static __m128i pair_of(std::uint64_t first, std::uint64_t second) {
    return _mm_set_epi64x(static_cast<std::int64_t>(second), static_cast<std::int64_t>(first));
  }
  /// Sums neighbours times a power of ten: pairs of digits, then fours of them.
  static __m128i fours_of(__m128i digits) {
    const __m128i tens =
        _mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xFF)), _mm_set1_epi16(10));
    const __m128i pairs = _mm_add_epi16(tens, _mm_srli_epi16(digits, 8));
    return _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001'0000 | 100));
  }
#endif

  alignas(16) std::array<std::uint32_t, 4> numbers_{};
  bool sound_ = true;
};

}  // namespace ridgeline::workload

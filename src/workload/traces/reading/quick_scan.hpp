#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ridgeline::workload {

/// How many bytes are looked at in one go.
inline constexpr std::size_t kScanSize = 32;

/// Which of the kScanSize bytes from `at` on are one of two: bit i for byte i. All of them must be
/// readable. Knowing where the values of a row end before any of them is read lets a processor read
/// them side by side; finding each end by reading what stands before it would make a chain.
[[nodiscard, gnu::always_inline]] inline std::uint32_t scan_for(const char* at,
                                                                char one,
                                                                char other) {
#if defined(__SSE2__)
  const auto scan_half = [&](std::size_t begin) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + begin));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(one)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(other)))));
  };
  return scan_half(0) | scan_half(sizeof(__m128i)) << sizeof(__m128i);
#else
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < kScanSize; ++i) {
    found |= std::uint32_t{at[i] == one || at[i] == other} << i;
  }
  return found;
#endif
}

/// The same for one byte alone.
[[nodiscard, gnu::always_inline]] inline std::uint32_t scan_for(const char* at, char one) {
  return scan_for(at, one, one);
}

}  // namespace ridgeline::workload

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

/// Sums and differences of int64 that may leave its range on the way.
namespace ridgeline::statistics {

/// high - low, which may exceed int64; low <= high.
inline std::uint64_t distance(std::int64_t low, std::int64_t high) {
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}

/// low + offset, which int64 holds although the offset may exceed it.
inline std::int64_t shifted(std::int64_t low, std::uint64_t offset) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

/// growth * steps, if that and its negative fit in int64 and so does `first` plus it.
inline std::optional<std::int64_t> reach(std::int64_t first,
                                         std::int64_t growth,
                                         std::int64_t steps) {
  std::int64_t product = 0;
  std::int64_t last = 0;
  if (__builtin_mul_overflow(growth, steps, &product) ||
      __builtin_add_overflow(first, product, &last) ||
      std::min(growth, product) == std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  return product;
}

}  // namespace ridgeline::statistics

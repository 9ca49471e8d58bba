#pragma once

#include <cstddef>

namespace ridgeline::core {

/// Bytes that x86-64 and most Arm processors read from memory at once. Others fetch a line twice,
/// or every second one.
inline constexpr std::size_t kCacheLine = 64;

/// A hint: the first line of this value is used soon. The processor reads it from memory while it
/// goes on with other work; no result depends on it. Where many instances take turns, what a
/// request left some seconds of simulated time ago is in no cache any more, and each read of it
/// takes 100 ns (docs/internals/speed.md).
template <class Value>
void fetch_line(const Value& value) {
  __builtin_prefetch(&value);
}

/// Fetches all cache lines of the value.
template <class Value>
void fetch(const Value& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  for (std::size_t i = 0; i < sizeof(Value); i += kCacheLine) {
    __builtin_prefetch(bytes + i);
  }
}

}  // namespace ridgeline::core

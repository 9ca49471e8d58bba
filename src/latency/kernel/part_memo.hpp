#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/fault.hpp"
#include "core/time.hpp"
#include "domain/step.hpp"

namespace ridgeline::latency::kernel {

/// GPU time by what holds it up.
using TimeByKind = std::array<core::Duration, domain::kNumBottlenecks>;

/// Remembers a pure function of a small count. Threads may fill the same entry at once: they write
/// the same numbers, and the first of an entry last: a reader that finds it finds the others.
class PartMemo {
 public:
  /// For counts from 0 to `last`; larger ones are computed each time.
  explicit PartMemo(std::int64_t last)
      : last_(last),
        entries_(
            static_cast<Entry*>(std::calloc(static_cast<std::size_t>(last) + 1, sizeof(Entry)))) {
    if (entries_ == nullptr) {
      core::out_of_memory("step times that are kept");
    }
  }

  /// `compute(count)` gives the TimeByKind; it is called when the count is new.
  template <class Compute>
  [[nodiscard]] [[gnu::always_inline]] TimeByKind get(std::int64_t count,
                                                      const Compute& compute) const {
    if (count > last_) [[unlikely]] {
      return compute(count);
    }
    Entry& entry = entries_.get()[count];
    const std::int64_t first = std::atomic_ref(entry[0]).load(std::memory_order_acquire);
    if (first == kUnknown) [[unlikely]] {
      return fill(entry, compute(count));
    }
    TimeByKind parts;
    parts[0] = core::Duration::ticks(first - 1);
    for (std::size_t kind = 1; kind < parts.size(); ++kind) {
      parts[kind] =
          core::Duration::ticks(std::atomic_ref(entry[kind]).load(std::memory_order_relaxed));
    }
    return parts;
  }

 private:
  using Entry = std::array<std::int64_t, domain::kNumBottlenecks>;
  /// The first time is stored plus one tick, so that fresh memory means unknown.
  static constexpr std::int64_t kUnknown = 0;
  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  [[gnu::noinline]] static TimeByKind fill(Entry& entry, const TimeByKind& parts) {
    if (parts[0] == core::Duration::max()) {
      return parts;  // No room for one tick more, and no run has room for such a step.
    }
    for (std::size_t kind = 1; kind < parts.size(); ++kind) {
      std::atomic_ref(entry[kind]).store(parts[kind].count(), std::memory_order_relaxed);
    }
    std::atomic_ref(entry[0]).store(parts[0].count() + 1, std::memory_order_release);
    return parts;
  }

  std::int64_t last_;
  /// Zeros that cost no memory, and no time, until they are written to: a short run needs few.
  std::unique_ptr<Entry, Free> entries_;
};

}  // namespace ridgeline::latency::kernel

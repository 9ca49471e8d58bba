#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/check.hpp"
#include "core/time.hpp"
#include "domain/step.hpp"

namespace ridgeline::latency::kernel {

/// GPU time by what holds it up.
using TimeByKind = std::array<core::Duration, domain::kNumBottlenecks>;

/// Remembers a pure function of a small count. Threads may fill the same entry at once: they write
/// the same numbers, and each number is read and written whole and is either unknown or right.
class PartMemo {
 public:
  /// For counts from 0 to `last`; larger ones are computed each time.
  explicit PartMemo(std::int64_t last)
      : last_(last),
        entries_(
            static_cast<Entry*>(std::calloc(static_cast<std::size_t>(last) + 1, sizeof(Entry)))) {
    RIDGELINE_CHECK(entries_ != nullptr, "no memory to remember step times in");
  }

  /// `compute(count)` gives the TimeByKind; it is called when the count is new.
  template <class Compute>
  [[nodiscard]] [[gnu::always_inline]] TimeByKind get(std::int64_t count,
                                                      const Compute& compute) const {
    if (count > last_) [[unlikely]] {
      return compute(count);
    }
    Entry& entry = entries_.get()[count];
    TimeByKind parts;
    bool known = true;
    for (std::size_t kind = 0; kind < parts.size(); ++kind) {
      const std::int64_t stored = std::atomic_ref(entry[kind]).load(std::memory_order_relaxed);
      known = known && stored != kUnknown;
      parts[kind] = core::Duration::ticks(stored - 1);
    }
    return known ? parts : fill(entry, compute(count));
  }

 private:
  using Entry = std::array<std::int64_t, domain::kNumBottlenecks>;
  /// Times are stored plus one tick, so that fresh memory means unknown.
  static constexpr std::int64_t kUnknown = 0;
  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  static TimeByKind fill(Entry& entry, const TimeByKind& parts) {
    for (std::size_t kind = 0; kind < parts.size(); ++kind) {
      std::atomic_ref(entry[kind]).store(parts[kind].count() + 1, std::memory_order_relaxed);
    }
    return parts;
  }

  std::int64_t last_;
  /// Zeros that cost no memory, and no time, until they are written to: a short run needs few.
  std::unique_ptr<Entry, Free> entries_;
};

}  // namespace ridgeline::latency::kernel

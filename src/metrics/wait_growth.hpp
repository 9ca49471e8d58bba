#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/int128.hpp"
#include "core/time.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// The mean wait of requests by the time at which they came, in equal intervals: whether the queue
/// grows through the run. Sums of integers, so that the order of ends does not matter.
class WaitGrowth {
 public:
  /// When the first request comes.
  void start(core::SimTime first) { first_ = first; }

  /// A request that came at `arrival`, not before the first, and was first scheduled `wait` later.
  void add(core::SimTime arrival, core::Duration wait) {
    const auto since = static_cast<std::uint64_t>((arrival - first_).count());
    while ((since >> shift_) >= kIntervals) [[unlikely]] {
      widen();
    }
    Interval& interval = intervals_[since >> shift_];
    ++interval.requests;
    interval.wait += wait.count();
  }

  /// What the run says of its load, the sustainable rate as requests were scheduled; nothing where
  /// the queue does not grow through it. docs/cli.md has the rule.
  [[nodiscard]] std::optional<Overload> overload() const;

 private:
  struct Interval {
    std::int64_t requests = 0;
    core::Int128 wait = 0;  ///< Sum, in ticks.
  };
  /// Several intervals together.
  struct Part {
    std::size_t begin = 0;
    double requests = 0.0;
    double arrival = 0.0;  ///< Mean, in seconds since the first.
    double wait = 0.0;     ///< Mean, in seconds.
  };

  static constexpr std::size_t kIntervals = 64;
  /// An interval of 2^20 ticks is a microsecond.
  static constexpr unsigned kFirstShift = 20;

  void widen();
  [[nodiscard]] Part part(std::size_t begin, std::size_t end) const;

  core::SimTime first_;
  unsigned shift_ = kFirstShift;  ///< An interval is 2^shift_ ticks.
  std::array<Interval, kIntervals> intervals_{};
};

}  // namespace ridgeline::metrics

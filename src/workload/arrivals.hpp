#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "core/rng.hpp"
#include "core/time.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

/// The arrival times of an open loop, one after the other, in constant memory.
class ArrivalTimes {
 public:
  /// `arrivals` is sound (check_options) and not a closed loop.
  ArrivalTimes(const Arrivals& arrivals, std::uint64_t seed, std::uint64_t replication);

  /// Goes on to the next arrival, never before the last one; false once it lies past
  /// kLatestArrival.
  bool step() {
    return kind_ == Kind::kPoisson && next_gap_ < gaps_.size() ? pass(gaps_[next_gap_++])
                                                               : step_apart();
  }
  /// When that is.
  [[nodiscard]] core::SimTime time() const { return core::SimTime::at(last_); }
  /// Both in one, for callers outside the hot loop: an optional handed on in two registers is put
  /// together in memory, where a processor waits for it.
  std::optional<core::SimTime> next() { return step() ? std::optional(time()) : std::nullopt; }

 private:
  enum class Kind : std::uint8_t { kPoisson, kConstant, kGamma, kAtOnce };

  bool step_apart();
  void draw_gaps();
  bool pass(core::Duration gap) {
    if (gap > kLatestArrival - last_) [[unlikely]] {
      return false;
    }
    last_ += gap;
    return true;
  }

  core::RngStream rng_;
  Kind kind_ = Kind::kAtOnce;
  double rate_ = 0.0;
  double mean_gap_ = 0.0;
  double shape_ = 0.0;
  double scale_ = 0.0;
  std::int64_t count_ = 0;
  core::Duration last_;
  /// Gaps of a Poisson process, drawn together; max() for one that time has no room for.
  std::array<core::Duration, 32> gaps_{};
  std::size_t next_gap_ = std::tuple_size_v<decltype(gaps_)>;
};

}  // namespace ridgeline::workload

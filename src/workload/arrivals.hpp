#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "core/rng.hpp"
#include "core/time.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

/// The arrival times of an open loop, one after the other, in constant memory.
class ArrivalTimes {
 public:
  /// `arrivals` is sound (check_options) and not a closed loop.
  ArrivalTimes(const Arrivals& arrivals, std::uint64_t seed, std::uint64_t replication);

  /// The next arrival, never before the last one; nothing once it lies past kLatestArrival.
  std::optional<core::SimTime> next();

 private:
  enum class Kind : std::uint8_t { kPoisson, kConstant, kGamma, kAtOnce };

  core::RngStream rng_;
  Kind kind_ = Kind::kAtOnce;
  double rate_ = 0.0;
  double mean_gap_ = 0.0;
  double shape_ = 0.0;
  double scale_ = 0.0;
  std::int64_t count_ = 0;
  core::Duration last_;
  std::array<double, 32> gaps_{};  ///< Of a Poisson process, drawn together, in seconds.
  std::size_t next_gap_ = std::tuple_size_v<decltype(gaps_)>;
};

}  // namespace ridgeline::workload

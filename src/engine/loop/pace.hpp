#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// 0 + 1 + ... + (count - 1), for a count of 0 to 2^32.
[[nodiscard]] inline std::int64_t sum_below(std::int64_t count) {
  const auto terms = static_cast<std::uint64_t>(count);
  return static_cast<std::int64_t>(terms * (terms - 1) / 2);
}

/// first, first + growth, ...: the ticks of the first `count` terms together, in whatever range.
[[nodiscard]] inline core::Int128 series(core::Duration first,
                                         core::Duration growth,
                                         std::int64_t count) {
  return static_cast<core::Int128>(first.count()) * count +
         static_cast<core::Int128>(growth.count()) * sum_below(count);
}

/// How steps of one composition, each request one token further, follow each other.
struct Pace {
  core::Duration period;  ///< Period of the first step.
  core::Duration growth;  ///< Growth of the period, per step.
  std::int64_t batches;   ///< Number of batches for which period and growth hold.

  /// From the start of the first to the end of the last of so many. They end before the horizon.
  [[nodiscard]] core::Duration length(std::int64_t count) const {
    return core::Duration::ticks(static_cast<std::int64_t>(series(period, growth, count)));
  }

  /// How many of the first `most` end within less than a time.
  [[nodiscard]] std::int64_t batches_within(core::Duration time, std::int64_t most) const {
    const auto are_within = [&](std::int64_t count) {
      return series(period, growth, count) < time.count();
    };
    if (are_within(most)) {
      return most;
    }
    // The root of growth/2 k^2 + (period - growth/2) k = time, put right by exact sums.
    const auto slope = static_cast<double>(growth.count());
    const double linear = static_cast<double>(period.count()) - slope / 2;
    const auto ticks = static_cast<double>(time.count());
    const double root = 2 * ticks / (linear + std::sqrt(linear * linear + 2 * slope * ticks));
    std::int64_t count = root < static_cast<double>(most) ? static_cast<std::int64_t>(root) : most;
    while (count > 0 && !are_within(count)) {
      --count;
    }
    while (are_within(count + 1)) {
      ++count;
    }
    return count;
  }
};

/// What a model's line (domain::AffineStep) says of the steps from one context on.
struct LinePlace {
  core::Duration gpu;    ///< GPU time of the first step.
  core::Duration slope;  ///< Per token of context.
  HostWork host;         ///< With the engine's own.
  core::Tokens room;     ///< By so much may the context still grow.
};

/// The pace of up to `most` >= 1 steps of `decodes` requests on a line. Host work beside the GPU's
/// is hidden as long as the GPU takes longer.
[[nodiscard]] inline Pace pace_of(const LinePlace& place, std::int64_t decodes, std::int64_t most) {
  const bool host_bound = place.gpu < place.host.beside;
  std::int64_t room = place.room.value();
  if (host_bound && place.slope.count() > 0) {
    // Until the GPU's time has grown past the host's.
    room = std::min(room, (place.host.beside - place.gpu).count() / place.slope.count());
  }
  return {.period = place.host.period(place.gpu),
          .growth = host_bound ? core::Duration() : place.slope * decodes,
          .batches = room < decodes * (most - 1) ? room / decodes + 1 : most};
}

}  // namespace ridgeline::engine

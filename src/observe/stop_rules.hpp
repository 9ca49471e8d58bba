#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::observe {

/// When a measurement ends before its workload does: "errors>5%", "ttft_p99>10s",
/// "in_flight>5000".
struct StopRule {
  enum class What : std::uint8_t { kErrors, kTtft, kInFlight };
  What what = What::kErrors;
  double limit = 0.0;     ///< A share, seconds, or a number of requests.
  double quantile = 0.0;  ///< Quantile for kTtft.
  std::string text;       ///< As given.
};
[[nodiscard]] core::Result<StopRule> parse_stop_rule(std::string_view text);

/// Answers that must have come before a share of errors ends a measurement.
inline constexpr std::int64_t kFewestForErrors = 20;
/// A server seems to be gone after so many connections in a row that were not made, or where half
/// of so many answers in a row failed.
inline constexpr std::int64_t kMostConnectionFailures = 20;
inline constexpr std::int64_t kAnswersLookedAt = 50;

}  // namespace ridgeline::observe

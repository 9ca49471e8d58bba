#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time.hpp"

namespace ridgeline::metrics {

/// A latency that can have a target.
enum class Metric : std::uint8_t { kTtft, kTpot, kItl, kE2e };
inline constexpr std::size_t kNumMetrics = 4;
inline constexpr std::array<const char*, kNumMetrics> kMetricNames = {"ttft", "tpot", "itl", "e2e"};

/// A number that describes a distribution.
enum class Statistic : std::uint8_t { kMean, kStd, kP50, kP90, kP95, kP99, kMax };
inline constexpr std::size_t kNumStatistics = 7;
inline constexpr std::array<const char*, kNumStatistics> kStatisticNames = {
    "mean", "std", "p50", "p90", "p95", "p99", "max"};

/// Service-level objectives on the client's clock, each optional. A request is good when it
/// completed and each of its own latencies is at most its target (for kItl: the mean of its gaps);
/// a latency that it does not have, like the TPOT of a single token, is met. That is the goodput of
/// vLLM's `bench serve`. A target as a whole is met when `statistic` of the run's distribution is
/// at most it; a request without an answer counts as one that took for ever.
struct SloTargets {
  std::array<std::optional<core::Duration>, kNumMetrics> limits;
  Statistic statistic = Statistic::kP99;

  [[nodiscard]] bool any() const {
    for (const auto& limit : limits) {
      if (limit.has_value()) {
        return true;
      }
    }
    return false;
  }
  friend bool operator==(const SloTargets&, const SloTargets&) = default;
};

/// The share of requests that are at most a statistic: all of them for those that one request
/// without an answer makes infinite.
[[nodiscard]] constexpr double share_within(Statistic statistic) {
  switch (statistic) {
    case Statistic::kP50:
      return 0.50;
    case Statistic::kP90:
      return 0.90;
    case Statistic::kP95:
      return 0.95;
    case Statistic::kP99:
      return 0.99;
    case Statistic::kMean:
    case Statistic::kStd:
    case Statistic::kMax:
      return 1.0;
  }
  return 1.0;
}

/// How one target was kept.
struct SloVerdict {
  Metric metric = Metric::kTtft;
  Statistic statistic = Statistic::kP99;
  double limit_ms = 0.0;
  std::optional<double> value_ms;  ///< For completed requests; nothing: none has it.
  std::optional<bool> met;         ///< Nothing where no request says anything of it.
  std::optional<double> share;     ///< Completed and rejected requests within the target.
};

}  // namespace ridgeline::metrics

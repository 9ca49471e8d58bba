#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::plan {

/// One target, on the client's clock: a percentile or the mean of one latency, or the share of
/// requests that must meet all of some limits (attainment). A percentile is never read off a run:
/// p99 <= x is the statement that at most 1 % of requests lie above x.
struct Target {
  /// Limits of one request.
  std::array<std::optional<core::Duration>, metrics::kNumMetrics> limits{};
  /// kMean: `limits` has one entry, which the mean must not exceed. Else a percentile.
  metrics::Statistic statistic = metrics::Statistic::kP99;
  bool is_attainment = false;
  double allowed_share = 0.01;  ///< Share of the requests that may lie above a limit; 0 for a mean.

  [[nodiscard]] bool is_mean() const { return statistic == metrics::Statistic::kMean; }
  /// The latency of a percentile or a mean.
  [[nodiscard]] metrics::Metric metric() const;
  [[nodiscard]] std::optional<core::Duration> limit_of(metrics::Metric metric) const {
    return limits[static_cast<std::size_t>(metric)];
  }
  /// "p99 TTFT <= 500 ms", "99 % within TTFT 500 ms, TPOT 50 ms"
  [[nodiscard]] std::string text() const;
  /// The latency or latencies alone: "TTFT", "TTFT or TPOT".
  [[nodiscard]] std::string name() const;
  /// Whether a request with these latencies lies above a limit. A latency that it does not have,
  /// like the TPOT of a single token, is met.
  [[nodiscard]] bool is_exceeded(const metrics::RequestMetrics& request) const;
};

/// All of them must hold.
using Targets = std::vector<Target>;

[[nodiscard]] Target percentile_target(metrics::Metric metric,
                                       metrics::Statistic statistic,
                                       core::Duration limit);

/// One request's latency of that kind; nothing where it has none. Not of kItl.
[[nodiscard]] std::optional<core::Duration> latency_of(const metrics::RequestMetrics& request,
                                                       metrics::Metric metric);

/// "500 ms", "1.5 s"
[[nodiscard]] std::string time_text(core::Duration time);
/// "TTFT"
[[nodiscard]] const char* metric_text(metrics::Metric metric);

}  // namespace ridgeline::plan

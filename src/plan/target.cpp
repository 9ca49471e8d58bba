#include "plan/target.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/time.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::plan {
namespace {

constexpr std::array<const char*, metrics::kNumMetrics> kMetricTexts = {
    "TTFT", "TPOT", "ITL", "E2E"};

}  // namespace

const char* metric_text(metrics::Metric metric) {
  return kMetricTexts[static_cast<std::size_t>(metric)];
}

std::string time_text(core::Duration time) {
  const double ms = time.to_milliseconds();
  return ms < 10'000.0 ? fmt::format("{:.4g} ms", ms) : fmt::format("{:.4g} s", ms / 1e3);
}

std::optional<core::Duration> latency_of(const metrics::RequestMetrics& request,
                                         metrics::Metric metric) {
  switch (metric) {
    case metrics::Metric::kTtft:
      return request.ttft;
    case metrics::Metric::kTpot:
      return request.tpot;
    case metrics::Metric::kE2e:
      return request.e2e;
    case metrics::Metric::kItl:
      return std::nullopt;
  }
  return std::nullopt;
}

metrics::Metric Target::metric() const {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i]) {
      return static_cast<metrics::Metric>(i);
    }
  }
  return metrics::Metric::kTtft;
}

std::string Target::name() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i]) {
      names.emplace_back(kMetricTexts[i]);
    }
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

std::string Target::text() const {
  if (!is_attainment) {
    return fmt::format("{} {} <= {}",
                       metrics::kStatisticNames[static_cast<std::size_t>(statistic)],
                       name(),
                       time_text(*limit_of(metric())));
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i]) {
      parts.push_back(fmt::format("{} {}", kMetricTexts[i], time_text(*limits[i])));
    }
  }
  return fmt::format("{:.4g} % within {}", (1.0 - allowed_share) * 100.0, fmt::join(parts, ", "));
}

bool Target::is_exceeded(const metrics::RequestMetrics& request) const {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto value = latency_of(request, static_cast<metrics::Metric>(i));
    if (limits[i] && value && *value > *limits[i]) {
      return true;
    }
  }
  return false;
}

Target percentile_target(metrics::Metric metric,
                         metrics::Statistic statistic,
                         core::Duration limit) {
  Target target{.statistic = statistic, .allowed_share = 1.0 - metrics::share_within(statistic)};
  target.limits[static_cast<std::size_t>(metric)] = limit;
  return target;
}

}  // namespace ridgeline::plan

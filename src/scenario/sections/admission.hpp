#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/admission/settings.hpp"
#include "core/time.hpp"

namespace ridgeline::scenario {

/// Section `cluster.admission`: which requests the gateway lets in, and which wait at it.
struct AdmissionSection {
  std::optional<std::string> name;  ///< In admission/registry.hpp, like the next.
  std::optional<std::string> saturation_detector;
  std::optional<double> queue_depth_threshold;
  std::optional<double> kv_cache_util_threshold;
  std::optional<core::Duration> metrics_staleness_threshold;
  std::optional<std::string> concurrency_mode;
  std::optional<double> max_concurrency;
  std::optional<double> max_token_concurrency;
  std::optional<double> token_bucket_capacity;
  std::optional<double> token_bucket_refill_rate;
  std::optional<std::string> rate_limit_window;
  std::optional<bool> flow_control;
  std::optional<std::string> dispatch_order;
  std::optional<std::string> fairness_policy;
  std::optional<double> min_ceiling;
  std::optional<double> max_ceiling;
  std::optional<std::string> ceilings;
  std::optional<core::Duration> request_ttl;
  std::optional<core::Duration> expiry_interval;
  std::optional<core::Duration> dispatch_tick_interval;
  std::optional<bool> eviction;
  std::optional<std::int64_t> per_band_requests;
  std::optional<std::int64_t> per_band_bytes;
};

/// What admission is made with: what is not stated as admission::Settings has it.
[[nodiscard]] admission::Settings admission_settings(const AdmissionSection& section);
/// Whether a saturation detector is read, and whether it reads the instances' gauges.
[[nodiscard]] bool reads_saturation(const admission::Settings& settings);
[[nodiscard]] bool reads_gauges_for_admission(const AdmissionSection& section);

}  // namespace ridgeline::scenario

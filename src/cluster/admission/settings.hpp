#pragma once

#include <cstdint>
#include <string>

#include "cluster/admission/rate_limit.hpp"
#include "core/time.hpp"

namespace ridgeline::admission {

/// How a gateway admits requests. The defaults are llm-d's (llm-d-router ebab687), the token
/// bucket's inference-sim's (f90a1e3).
struct Settings {
  std::string policy = "always";  ///< A name of registry.hpp, like the next.
  std::string saturation_detector = "utilization-detector";
  RateWindow rate_limit_window = RateWindow::kFixed;

  // The utilization detector's.
  double queue_depth_threshold = 5.0;
  double kv_cache_util_threshold = 0.8;
  core::Duration metrics_staleness_threshold = core::Duration::milliseconds(200);
  // The concurrency detector's: requests and tokens in flight at one instance.
  std::string concurrency_mode = "requests";
  double max_concurrency = 100.0;
  double max_token_concurrency = 1e6;
  // The token bucket's: tokens, and tokens per second.
  double token_bucket_capacity = 10'000.0;
  double token_bucket_refill_rate = 1'000.0;

  bool flow_control = false;
  // Flow control's.
  std::string dispatch_order = "fcfs";
  std::string fairness_policy = "global-strict";
  /// The saturation up to which the lowest and the highest band may send.
  double min_ceiling = 1.0;
  double max_ceiling = 1.0;
  bool ceilings_by_value = false;  ///< Else by rank.
  core::Duration request_ttl = core::Duration::seconds(60);
  core::Duration expiry_interval = core::Duration::seconds(1);
  core::Duration dispatch_tick_interval = core::Duration::milliseconds(1);
  bool eviction = false;  ///< Requests below zero give way to those that wait and are not.
  std::int64_t per_band_requests = 5'000;
  std::int64_t per_band_bytes = 1'000'000'000;
};

}  // namespace ridgeline::admission

#include "scenario/sections/admission.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/admission/rate_limit.hpp"
#include "cluster/admission/registry.hpp"
#include "cluster/admission/settings.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/tenants.hpp"
#include "routing/registry.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"
#include "scenario/sections/tenants.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kAdmissionName = "cluster.admission.name";
constexpr std::string_view kDetector = "cluster.admission.saturation_detector";
constexpr std::string_view kFairness = "cluster.admission.fairness_policy";
constexpr std::string_view kRateWindow = "cluster.admission.rate_limit_window";
constexpr std::string_view kMinCeiling = "cluster.admission.min_ceiling";
constexpr std::string_view kDispatchTick = "cluster.admission.dispatch_tick_interval";
constexpr std::string_view kTtl = "cluster.admission.request_ttl";
constexpr std::string_view kExpiry = "cluster.admission.expiry_interval";
constexpr std::string_view kStaleness = "cluster.admission.metrics_staleness_threshold";
constexpr std::array<std::string_view, 3> kConcurrencyModes = {"requests", "tokens", "hybrid"};
constexpr std::array<std::string_view, 2> kRateWindows = {"fixed", "sliding"};
constexpr std::array<std::string_view, 3> kDispatchOrders = {"fcfs", "edf", "slo-deadline"};
constexpr std::array<std::string_view, 2> kCeilings = {"rank", "value"};
/// Past every deployment; above zero where zero would divide.
constexpr double kMostOfAny = 1e12;
constexpr double kLeastOfAny = 1e-6;

// clang-format off
constexpr auto kAdmissionOptions = std::to_array<Option>({
    {.path = kAdmissionName, .flag = "admission", .unset = "always",
     .help = "Which requests the gateway lets in (see `ridgeline list admission`)", .example = "probabilistic",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.name; }},
    {.path = kDetector, .flag = "saturation-detector", .unset = "utilization-detector",
     .help = "How full the gateway takes the instances to be (see `ridgeline list admission`)", .example = "concurrency-detector",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.saturation_detector; }},
    {.path = "cluster.admission.queue_depth_threshold", .flag = "queue-depth-threshold",
     .lowest = kLeastOfAny, .highest = kMostOfAny, .unset = "5",
     .help = "Waiting requests at which an instance is full, for the utilization detector", .example = "10",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.queue_depth_threshold; }},
    {.path = "cluster.admission.kv_cache_util_threshold", .flag = "kv-cache-util-threshold",
     .lowest = kLeastOfAny, .highest = 1, .unset = "0.8",
     .help = "Used share of the KV blocks at which an instance is full, for the utilization detector", .example = "0.9",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.kv_cache_util_threshold; }},
    {.path = kStaleness, .flag = "metrics-staleness-threshold", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "200ms",
     .help = "Gauges older than this count as full, for the utilization detector", .example = "2s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.metrics_staleness_threshold; }},
    {.path = "cluster.admission.concurrency_mode", .flag = "concurrency-mode", .choices = kConcurrencyModes, .unset = "requests",
     .help = "What the concurrency detector counts: requests, tokens, or whichever is nearer its limit", .example = "tokens",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.concurrency_mode; }},
    {.path = "cluster.admission.max_concurrency_per_instance", .flag = "max-concurrency-per-instance",
     .lowest = kLeastOfAny, .highest = kMostOfAny, .unset = "100",
     .help = "Requests in flight at which an instance is full, for the concurrency detector", .example = "64",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.max_concurrency; }},
    {.path = "cluster.admission.max_token_concurrency", .flag = "max-token-concurrency",
     .lowest = kLeastOfAny, .highest = kMostOfAny, .unset = "1000000",
     .help = "Prompt tokens in flight at which an instance is full, for the concurrency detector", .example = "200000",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.max_token_concurrency; }},
    {.path = "cluster.admission.token_bucket_capacity", .flag = "token-bucket-capacity",
     .lowest = 0, .highest = kMostOfAny, .unset = "10000",
     .help = "Prompt tokens that the bucket holds", .example = "100000",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.token_bucket_capacity; }},
    {.path = "cluster.admission.token_bucket_refill_rate", .flag = "token-bucket-refill-rate",
     .lowest = 0, .highest = kMostOfAny, .unset = "1000",
     .help = "Prompt tokens per second that the bucket gains", .example = "20000",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.token_bucket_refill_rate; }},
    {.path = kRateWindow, .flag = "rate-limit-window", .choices = kRateWindows, .unset = "fixed",
     .help = "The minute of the tenants' rate limits: from one full minute to the next, or the last one", .example = "sliding",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.rate_limit_window; }},
    {.path = "cluster.admission.flow_control", .flag = "flow-control", .unset = "false",
     .help = "Requests wait at the gateway while the instances are saturated", .example = "true",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.flow_control; }},
    {.path = "cluster.admission.dispatch_order", .flag = "dispatch-order", .choices = kDispatchOrders, .unset = "fcfs",
     .help = "Order inside a tenant's flow: as they came, by expiry, or by the target of TTFT", .example = "slo-deadline",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.dispatch_order; }},
    {.path = kFairness, .flag = "fairness-policy", .unset = "global-strict",
     .help = "Order between the tenants' flows of one priority (see `ridgeline list admission`)", .example = "vtc",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.fairness_policy; }},
    {.path = kMinCeiling, .flag = "min-ceiling",
     .lowest = 0, .highest = kMostOfAny, .unset = "1",
     .help = "Saturation from which the lowest priority waits", .example = "0.5",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.min_ceiling; }},
    {.path = "cluster.admission.max_ceiling", .flag = "max-ceiling",
     .lowest = 0, .highest = kMostOfAny, .unset = "1",
     .help = "Saturation from which the highest priority waits", .example = "1",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.max_ceiling; }},
    {.path = "cluster.admission.ceilings", .flag = "ceilings", .choices = kCeilings, .unset = "rank",
     .help = "How the ceilings lie between: in equal steps, or by the priorities' values", .example = "value",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.ceilings; }},
    {.path = kTtl, .flag = "request-ttl", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "60s",
     .help = "How long a request may wait at the gateway before it expires", .example = "10s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.request_ttl; }},
    {.path = kExpiry, .flag = "expiry-interval", .unit = "s",
     .lowest = kMinIntervalSeconds, .highest = kMaxSeconds, .unset = "1s",
     .help = "From one removal of expired requests to the next", .example = "100ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.expiry_interval; }},
    {.path = kDispatchTick, .flag = "dispatch-tick-interval", .unit = "s",
     .lowest = kMinIntervalSeconds, .highest = kMaxSeconds, .unset = "1ms",
     .help = "From one look at the gateway's queue to the next", .example = "10ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.dispatch_tick_interval; }},
    {.path = "cluster.admission.eviction", .flag = "eviction", .unset = "false",
     .help = "Running requests of priorities below zero are cut off, two at a time, for those that wait and are not", .example = "true",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.eviction; }},
    {.path = "cluster.admission.per_band_requests", .flag = "per-band-requests",
     .lowest = 0, .highest = kMostOfAny, .unset = "5000",
     .help = "Requests that may wait in the band of one priority", .example = "1000",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.per_band_requests; }},
    {.path = "cluster.admission.per_band_bytes", .flag = "per-band-bytes", .unit = "bytes",
     .lowest = 0, .highest = kMostOfAny, .unset = "1000000000",
     .help = "Bytes of prompts that may wait in it, four per token", .example = "100000000",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.admission.per_band_bytes; }},
});
// clang-format on

/// Settings that are of use only beside others.
class Checks {
 public:
  Checks(Findings& findings, const admission::Settings& settings)
      : findings_(findings), settings_(settings) {}

  /// An entry that does not exist, or cannot run.
  template <class Found>
  bool known(std::string_view path, const core::Result<Found>& found) {
    if (!found) {
      findings_.problem(path, found.error().front().message, found.error().front().hint);
    }
    return found.has_value();
  }

  void of_detector() {
    const bool reads = reads_saturation(settings_);
    const bool utilization = settings_.saturation_detector == "utilization-detector";
    const std::string none =
        fmt::format("nothing reads the saturation: admission is {}, and there is no flow control",
                    settings_.policy);
    only_if(reads, {kDetector}, none);
    const std::string other =
        reads ? fmt::format("the detector is {}", settings_.saturation_detector) : none;
    only_if(reads && utilization,
            {"cluster.admission.queue_depth_threshold",
             "cluster.admission.kv_cache_util_threshold",
             kStaleness},
            other);
    only_if(reads && !utilization,
            {"cluster.admission.concurrency_mode",
             "cluster.admission.max_concurrency_per_instance",
             "cluster.admission.max_token_concurrency"},
            other);
    const core::Duration interval =
        findings_.scenario().run.cluster.gateway.refresh_metrics_interval.value_or(
            core::Duration());  // The default is below the default.
    if (reads && utilization && interval > settings_.metrics_staleness_threshold) {
      findings_.warn("W-stale-gauges",
                     fmt::format("gauges are read every {}s and count as full {}s after that",
                                 interval.to_seconds(),
                                 settings_.metrics_staleness_threshold.to_seconds()));
    }
  }

  void of_policy() {
    only_if(
        settings_.policy == "token-bucket",
        {"cluster.admission.token_bucket_capacity", "cluster.admission.token_bucket_refill_rate"},
        fmt::format("admission is {}", settings_.policy));
  }

  void of_flow_control() {
    only_if(settings_.flow_control,
            {"cluster.admission.dispatch_order",
             kFairness,
             kMinCeiling,
             "cluster.admission.max_ceiling",
             "cluster.admission.ceilings",
             kTtl,
             kExpiry,
             kDispatchTick,
             "cluster.admission.eviction",
             "cluster.admission.per_band_requests",
             "cluster.admission.per_band_bytes"},
            "no request waits at the gateway without cluster.admission.flow_control");
    if (settings_.min_ceiling > settings_.max_ceiling) {
      findings_.problem(
          kMinCeiling,
          fmt::format(
              "{} is above the max_ceiling of {}", settings_.min_ceiling, settings_.max_ceiling));
    }
    if (settings_.request_ttl == core::Duration()) {
      findings_.problem(kTtl, "0s is out of range, expected a time above zero", "1ms");
    }
  }

  void of_limits(const std::vector<domain::Tenant>& tenants) {
    const bool limited = std::ranges::any_of(tenants, [](const domain::Tenant& tenant) {
      return tenant.requests_per_minute || tenant.tokens_per_minute;
    });
    only_if(limited, {kRateWindow}, "no tenant has a rate limit");
  }

 private:
  void only_if(bool of_use, std::initializer_list<std::string_view> paths, std::string_view why) {
    for (const std::string_view path : paths) {
      if (!of_use && findings_.given(path)) {
        findings_.ignored(path, why);
      }
    }
  }

  Findings& findings_;
  const admission::Settings& settings_;
};

template <class Value, class Stated>
void take(Value& value, const Stated& stated) {
  if (stated) {
    value = *stated;
  }
}

}  // namespace

admission::Settings admission_settings(const AdmissionSection& section) {
  admission::Settings settings;
  take(settings.policy, section.name);
  take(settings.saturation_detector, section.saturation_detector);
  take(settings.queue_depth_threshold, section.queue_depth_threshold);
  take(settings.kv_cache_util_threshold, section.kv_cache_util_threshold);
  take(settings.metrics_staleness_threshold, section.metrics_staleness_threshold);
  take(settings.concurrency_mode, section.concurrency_mode);
  take(settings.max_concurrency, section.max_concurrency);
  take(settings.max_token_concurrency, section.max_token_concurrency);
  take(settings.token_bucket_capacity, section.token_bucket_capacity);
  take(settings.token_bucket_refill_rate, section.token_bucket_refill_rate);
  settings.rate_limit_window = section.rate_limit_window == "sliding"
                                   ? admission::RateWindow::kSliding
                                   : admission::RateWindow::kFixed;
  take(settings.flow_control, section.flow_control);
  take(settings.dispatch_order, section.dispatch_order);
  take(settings.fairness_policy, section.fairness_policy);
  take(settings.min_ceiling, section.min_ceiling);
  take(settings.max_ceiling, section.max_ceiling);
  settings.ceilings_by_value = section.ceilings == "value";
  take(settings.request_ttl, section.request_ttl);
  take(settings.expiry_interval, section.expiry_interval);
  take(settings.dispatch_tick_interval, section.dispatch_tick_interval);
  take(settings.eviction, section.eviction);
  take(settings.per_band_requests, section.per_band_requests);
  take(settings.per_band_bytes, section.per_band_bytes);
  return settings;
}

bool reads_saturation(const admission::Settings& settings) {
  const auto policy = admission::find_policy(settings.policy);
  return settings.flow_control || (policy && (*policy)->make(settings)->needs_saturation());
}

bool reads_gauges_for_admission(const AdmissionSection& section) {
  const admission::Settings settings = admission_settings(section);
  const auto policy = admission::find_policy(settings.policy);
  if (policy && (*policy)->make(settings)->needs_headroom()) {
    return true;
  }
  const auto detector = admission::find_detector(settings.saturation_detector);
  return reads_saturation(settings) && detector && (*detector)->make(settings)->needs().gauges;
}

std::span<const Option> admission_options() {
  return kAdmissionOptions;
}

void check_admission(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  if (!cluster.instances) {
    return;  // check_cluster() says so.
  }
  const admission::Settings settings = admission_settings(cluster.admission);
  Checks checks(findings, settings);
  const bool policy = checks.known(kAdmissionName, admission::find_policy(settings.policy));
  const bool detector =
      checks.known(kDetector, admission::find_detector(settings.saturation_detector));
  checks.known(kFairness, admission::find_fairness(settings.fairness_policy));
  if (policy) {
    checks.of_policy();
    const auto router = routing::find_router(router_name(cluster.router));
    if (router && !(*router)->predicts &&
        (*(admission::find_policy(settings.policy)))->make(settings)->needs_headroom()) {
      findings.problem(kAdmissionName,
                       fmt::format("{} needs a routing policy that predicts latencies, found {}",
                                   settings.policy,
                                   (*router)->name),
                       fmt::format("cluster.router: {}", routing::predicting_routers()));
    }
  }
  if (policy && detector) {
    checks.of_detector();
  }
  checks.of_flow_control();
  if (const auto tenants = read_tenants(cluster.tenants)) {
    checks.of_limits(*tenants);
  }
}

}  // namespace ridgeline::scenario

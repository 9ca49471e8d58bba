#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::metrics {

/// A change of the number of instances.
struct ScaleEventSummary {
  double at_s = 0.0;
  std::string pool = {};  ///< Which it is of: "prefill" or "decode" where they are apart.
  std::int64_t from = 0;  ///< Ready or on their way to be.
  std::int64_t to = 0;
  std::string reason;
};

/// What an autoscaler did, and what the instances cost.
struct ScalingSummary {
  std::string policy = {};              ///< Empty without an autoscaler.
  std::vector<std::string> pools = {};  ///< That it scales, by the names in events.
  std::vector<ScaleEventSummary> events = {};
  double replica_seconds = 0.0;  ///< Sum over instances of the time from pending to gone.
  double gpu_hours = 0.0;
  std::optional<double> cost = {};  ///< Where instances have a price.
};

/// A fault as it went.
struct FaultSummary {
  std::string kind;
  std::optional<std::int64_t> instance = {};  ///< None of a gateway's, or of a link's.
  std::optional<std::int64_t> host = {};      ///< For a link's fault: whose card.
  bool is_of_fabric = false;                  ///< For a link's fault: the fabric's.
  double at_s = 0.0;
  std::optional<double> over_s;  ///< When the instance was as before; nothing if not by the end.
  std::int64_t failed_requests = 0;  ///< Lost with it, retried ones among them.

  /// "crash of 1", "link-down of host 2", "link-down of the fabric".
  [[nodiscard]] std::string name() const;
  /// Whether it lasted for a part of that time: one that struck what was down already did not.
  [[nodiscard]] bool lasted_in(double begin_s, double end_s) const;
};

/// A rolling update as it went.
struct UpdateSummary {
  std::string pool = {};  ///< Pool whose instances it replaces, where there are several kinds.
  double at_s = 0.0;
  std::int64_t instances = 0;          ///< To replace.
  std::int64_t replaced = 0;           ///< Old ones that were taken out of service.
  std::int64_t starting = 0;           ///< New ones that were not ready by the run's end.
  std::int64_t fewest_ready = 0;       ///< At once, until it was over.
  std::optional<double> over_s = {};   ///< When all were new and ready; nothing if not by the end.
  std::int64_t failed_requests = 0;    ///< Lost by drain timeouts, retried ones among them.
  std::int64_t rerouted_requests = 0;  ///< Lost requests that were sent again.
};

struct RetriesSummary {
  std::int64_t attempts = 0;  ///< After the first.
  std::int64_t retried_requests = 0;
  std::int64_t wasted_tokens = 0;  ///< To be computed, or generated, in attempts that failed.
};

/// What happened to the instances of a cluster.
struct OperationsSummary {
  std::optional<ScalingSummary> scaling = {};
  std::vector<FaultSummary> faults = {};
  std::vector<UpdateSummary> updates = {};     ///< Those that began.
  std::int64_t late_updates = 0;               ///< Were to begin after the run's end.
  std::int64_t late_faults = 0;                ///< Were to strike after the run's end.
  std::optional<RetriesSummary> retries = {};  ///< Where requests can be lost.
  std::int64_t held_requests = 0;              ///< Found no ready instance.

  /// The faults under which most of that time passed, and their times: "crash of 1 from 10 s to
  /// 50 s, ..."; empty: most of it passed without.
  [[nodiscard]] std::string faults_in(double begin_s, double end_s) const;
};

}  // namespace ridgeline::metrics

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "domain/step_time_sum.hpp"
#include "metrics/lock_step_summary.hpp"
#include "metrics/offload_summary.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/power_summary.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {

/// What results call the outcomes.
inline constexpr std::array<const char*, domain::kNumOutcomes> kOutcomeNames = {"finished",
                                                                                "length_capped",
                                                                                "rejected",
                                                                                "aborted",
                                                                                "unfinished",
                                                                                "failed",
                                                                                "no_such_model",
                                                                                "expired"};

/// A set of numbers, described. The percentiles interpolate linearly between order statistics and
/// the standard deviation is the population's, as numpy's defaults and hence vLLM's `bench serve`
/// have it.
struct Distribution {
  std::array<double, kNumStatistics> values{};

  [[nodiscard]] double of(Statistic statistic) const {
    return values[static_cast<std::size_t>(statistic)];
  }
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// Latencies on one clock, in milliseconds, over the completed requests; nothing where no request
/// has such a number. ITL pools the gaps of all requests.
struct LatencySummary {
  std::array<std::optional<Distribution>, kNumMetrics> by_metric;

  [[nodiscard]] const std::optional<Distribution>& of(Metric metric) const {
    return by_metric[static_cast<std::size_t>(metric)];
  }
  friend bool operator==(const LatencySummary&, const LatencySummary&) = default;
};

/// Counts of the engine that no record repeats; the simulation's driver copies them from it.
struct EngineCounts {
  std::int64_t steps = 0;
  domain::StepTimeSum step_time;
  core::TimeSum busy;           ///< Sum of step periods.
  core::Tokens prefix_queries;  ///< Tokens looked up in the prefix cache.
  core::Tokens prefix_hits;     ///< Tokens found there.
  core::Blocks kv_blocks;       ///< That can hold tokens.
  core::Blocks peak_used_blocks;
  double used_block_seconds = 0.0;
};

/// Shares from 0 to 1.
struct KvCacheSummary {
  std::optional<double> peak;             ///< Most blocks ever in use.
  std::optional<double> mean;             ///< Over the time that the engine was busy.
  std::optional<double> prefix_hit_rate;  ///< Tokens found of tokens looked up.
  std::int64_t block_size = 0;            ///< Tokens of a block: engine.block_size or more.
};

/// Requests that come faster than they are served, throughout the run or in a stretch of it: the
/// queue grows, and latencies say how long that lasted.
struct Overload {
  statistics::Backlog backlog;
  double first_s = 0.0;  ///< When the first came: the backlog's times count from there.
  /// The queue is at the client, which holds requests back (max_concurrency beside a rate or a
  /// trace): no latency has that wait.
  bool at_client = false;
  /// The served rate is what was served in the stretch, and says nothing of a run at that rate:
  /// lengths and times are a trace's, whose bursts may be too much all the same, or instances were
  /// away.
  bool served_only = false;
};

/// The requests with one value of a label, in numbers; latencies on the client's clock.
struct GroupSummary {
  domain::Label label = domain::Label::kSloClass;
  std::int32_t value = domain::LabelSet::kNoLabel;  ///< As in domain::LabelSet.
  std::optional<std::string> name;  ///< Name of the value; nothing: requests without the label.
  std::int64_t requests = 0;
  std::int64_t completed = 0;
  std::int64_t total_input_tokens = 0;  ///< Completed requests, like the next one.
  std::int64_t total_output_tokens = 0;
  std::optional<Distribution> ttft_ms;
  std::optional<Distribution> tpot_ms;
  std::optional<Distribution> e2e_ms;
  std::optional<Distribution> queue_time_ms;
  std::optional<double> request_throughput;  ///< Over the whole run's duration, like the next two.
  std::optional<double> output_throughput;
  std::optional<double> goodput;
  std::optional<double> good_share;  ///< Share of the completed and the rejected requests.
};

/// One instance of a cluster, in numbers; latencies on the client's clock.
struct InstanceSummary {
  std::int64_t requests = 0;  ///< Sent to it.
  std::int64_t completed = 0;
  std::int64_t total_input_tokens = 0;  ///< Completed requests, like the next two.
  std::int64_t total_output_tokens = 0;
  std::int64_t total_cached_tokens = 0;
  std::optional<Distribution> ttft_ms;
  std::optional<Distribution> tpot_ms;
  std::optional<Distribution> e2e_ms;
  std::optional<Distribution> queue_time_ms;
  std::optional<double> busy;             ///< Share of the run's duration spent in steps.
  std::optional<double> kv_peak;          ///< As KvCacheSummary, of its own cache.
  std::optional<double> prefix_hit_rate;  ///< As KvCacheSummary, in its own cache.
  std::optional<double> ready_s;          ///< Time in service, where instances come, fail or go.
  bool of_update = false;                 ///< A rolling update started it, and no autoscaler.
};

/// Instances of a cluster that are alike, in numbers.
struct PoolSummary {
  std::string name = {};
  std::string model = {};
  std::string gpu = {};
  std::int64_t instances = 0;
  std::int64_t gpus = 0;          ///< GPUs of each instance.
  InstanceSummary together = {};  ///< All instances; the peak of KV blocks is that of the fullest.
  std::optional<double> output_throughput =
      {};                           ///< Output tokens per second of the run's duration.
  double gpu_hours = 0.0;           ///< While its instances existed.
  std::optional<double> cost = {};  ///< Where they have a price.
};

/// One tenant of a cluster, in numbers; latencies on the client's clock.
struct TenantSummary {
  std::string name;
  double weight = 1.0;  ///< Its configured share.
  std::int64_t requests = 0;
  std::int64_t completed = 0;
  std::int64_t rejected = 0;
  std::int64_t expired = 0;
  std::int64_t total_input_tokens = 0;  ///< Completed requests, like the next one.
  std::int64_t total_output_tokens = 0;
  std::optional<Distribution> ttft_ms;
  std::optional<Distribution> tpot_ms;
  std::optional<Distribution> e2e_ms;
  std::optional<Distribution> gateway_wait_ms;
  std::optional<double> goodput;     ///< By its own targets, else by the run's.
  std::optional<double> good_share;  ///< Share of the completed and the refused requests.
  std::optional<double> share;       ///< Share of all tenants' completed tokens.
};

/// What a gateway's admission did, in numbers.
struct AdmissionSummary {
  /// Requests refused for one reason.
  struct Refused {
    std::string reason;
    std::int64_t requests = 0;
  };

  std::string policy;
  bool flow_control = false;
  std::int64_t admitted = 0;
  std::optional<std::int64_t>
      evicted;  ///< Admitted requests cut off to make room; where there is eviction.
  std::vector<Refused> rejected;         ///< Every reason, those without a request too.
  std::optional<Distribution> queue_ms;  ///< In the gateway's queue, of completed requests.
};

/// The parts of the time to first token where prefill and decode are apart, in their order: from
/// the gateway to the prefill instance, to the prompt's last token, to the decode instance, to
/// blocks there, to the first byte of KV, to the last, to the decode instance's first token.
inline constexpr auto kTtftParts = std::to_array<std::string_view>(
    {"gateway", "prefill", "hand_over", "decode_wait", "setup", "transfer", "first_step"});

/// KV that moved from prefill to decode instances, in numbers.
struct TransferSummary {
  std::int64_t prefill_instances = 0;  ///< The first ones.
  std::int64_t requests = 0;           ///< Whose prompt was computed apart.
  std::int64_t count = 0;              ///< Transfers.
  std::int64_t failed = 0;             ///< Loads whose KV was gone ...
  std::int64_t failed_by_crash = 0;    ///< ... with its prefill instance; else the lease had ended.
  std::int64_t recomputed = 0;         ///< Failed loads recomputed on the decode instance.
  std::int64_t decode_lost = 0;        ///< Requests lost with their decode instance.
  std::int64_t bytes = 0;
  std::optional<double> ms;       ///< Mean of a transfer, first to last byte.
  std::optional<double> wait_ms;  ///< Part of `ms` beyond what the transfer would have taken alone.
  /// Share of the busiest wire's capacity until the last transfer's end.
  std::optional<double> link_utilisation;
  /// Means; they sum to the mean time to the decode instance's first token.
  std::array<std::optional<double>, kTtftParts.size()> ttft_parts_ms = {};
};

/// A cluster of instances behind a gateway, in numbers.
struct FleetSummary {
  std::string router;  ///< The routing policy.
  std::int64_t decisions = 0;
  std::int64_t ties = 0;  ///< Decisions that were a draw among equals.
  /// Decisions by what decided; those that occurred.
  std::vector<std::pair<std::string, std::int64_t>> by_reason;
  std::int64_t refused = 0;  ///< Requests for which filters left no instance.
  /// Audit: share of decisions that views of age 0 would have made otherwise.
  std::optional<double> regret;
  /// Audit: prompt tokens computed although another instance had them.
  std::optional<std::int64_t> hit_lost_tokens;
  std::optional<double> age_ms;               ///< Mean age of the gauges of the chosen instance.
  std::optional<double> request_variation;    ///< Standard deviation over mean of the requests.
  std::optional<double> token_variation;      ///< `request_variation` of completed tokens.
  std::vector<InstanceSummary> instances;     ///< In the order of their ids.
  std::vector<PoolSummary> pools;             ///< Where the scenario lists pools.
  std::optional<AdmissionSummary> admission;  ///< Where requests can be refused or wait.
  std::vector<TenantSummary> tenants;         ///< Where tenants are kept apart; listed ones first.
  std::optional<double> fairness;             ///< Jain's index of the tenants.
  std::optional<double> fairness_of_demand;   ///< Jain's index over what each tenant asked for.
  std::optional<TransferSummary> transfers;   ///< Where prefill and decode are apart.
  std::optional<LockStepSummary> lock_step;   ///< Where instances are ranks that step together.
  std::optional<OffloadSummary> offload;      ///< Where KV is kept outside the GPUs.
  std::optional<OperationsSummary> operations;  ///< Where instances come, fail or go, or cost.
};

/// A run in numbers, under the names that vLLM's `bench serve` gives them.
struct Summary {
  std::int64_t completed = 0;
  std::array<std::int64_t, domain::kNumOutcomes> by_outcome{};
  std::int64_t total_input_tokens = 0;  ///< Completed requests, like the next two.
  std::int64_t total_output_tokens = 0;
  std::int64_t total_cached_tokens = 0;  ///< Prompt tokens found in the prefix cache.
  std::optional<double> duration_s;  ///< First arrival to the end of the last completed request.
  LatencySummary client;
  LatencySummary server;
  std::optional<Distribution> queue_time_ms;
  std::optional<double> request_throughput;      ///< Completed requests per second.
  std::optional<double> output_throughput;       ///< Output tokens per second.
  std::optional<double> total_token_throughput;  ///< Input and output tokens per second.
  std::optional<double> goodput;                 ///< Requests per second that met every target.
  std::optional<double> good_share;  ///< Share of the completed and the rejected requests.
  std::vector<SloVerdict> slo;       ///< In the order of Metric.
  std::optional<Overload> overload;
  std::vector<GroupSummary> groups;   ///< Label by label, where requests differ in it.
  std::optional<FleetSummary> fleet;  ///< Where a cluster served.
  /// Requests sent before the end of the warm-up, where there is one: in no other number of
  /// requests, latencies or tokens.
  std::optional<std::int64_t> warmup_requests;
  std::int64_t preemptions = 0;
  KvCacheSummary kv_cache;
  std::optional<PowerSummary> power;
  /// What the engine's busy time went to, exactly. Time in which the GPU waits for the host is
  /// overhead.
  std::array<core::TimeSum, domain::kNumBottlenecks> time_by_bottleneck{};
  core::TimeSum busy;  ///< Their sum.
  std::int64_t steps = 0;

  [[nodiscard]] std::int64_t requests() const;
  [[nodiscard]] std::int64_t count(domain::Outcome outcome) const {
    return by_outcome[static_cast<std::size_t>(outcome)];
  }
};

/// Why numbers of the summary are absent: one warning per reason, which names the fields.
[[nodiscard]] core::Warnings missing_numbers(const Summary& summary);

}  // namespace ridgeline::metrics

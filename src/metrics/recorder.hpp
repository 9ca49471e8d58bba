#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/tenants.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/fleet.hpp"
#include "metrics/gap_samples.hpp"
#include "metrics/gateway_waits.hpp"
#include "metrics/groups.hpp"
#include "metrics/record_digest.hpp"
#include "metrics/request_latencies.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "metrics/tenant_table.hpp"
#include "metrics/timeline.hpp"
#include "metrics/work_done.hpp"

namespace ridgeline::metrics {

struct RecorderOptions {
  Percentiles percentiles = Percentiles::kExact;
  SloTargets slo;
  /// Label sets of the requests; null: they have none. Outlives the recorder and may grow.
  const domain::LabelSets* label_sets = nullptr;
  /// Requests come when they come, whatever becomes of those before: there can be too many.
  bool open_loop = false;
  bool of_trace = false;  ///< Requests are a trace's.
  /// Requests that the client holds back; null: it holds none. Outlives the recorder and may grow.
  const statistics::QueueGrowth* held_back = nullptr;
  std::int64_t instances = 0;  ///< Instances of a cluster, each summed up apart; 0: one alone.
  std::vector<std::size_t> pools = {};  ///< By instance, counted from 0; empty: no pools.
  /// Requests that arrive before it are not measured: they are in the digest alone.
  std::optional<core::SimTime> warmup = {};
  /// As `warmup`, a time that is found out during the run; or null. Outlives the recorder.
  const core::SimTime* measured_from = nullptr;
  domain::Tenants* tenants = nullptr;  ///< A cluster's, each summed up apart; or null.
  bool gateway_queues = false;         ///< Requests can wait in a gateway.
  bool curves = false;                 ///< Recorder::curves() are asked for.
  Listener* listener = nullptr;        ///< Gets everything too, as it comes; outlives the recorder.
  Timeline* timeline = nullptr;  ///< Gets requests and steps, as they come; outlives the recorder.
};

/// Gathers what a run reports and sums it up. Feeds as domain::RecordSink does, with the latencies
/// of each request beside its record. Costs nothing per step that is not logged, and per run of
/// token gaps what GapSamples costs.
class Recorder {
 public:
  explicit Recorder(const RecorderOptions& options);

  /// Before the first request ends: when the first one comes.
  void start(core::SimTime first_arrival) { queue_.start(first_arrival); }
  /// A request ended. The latencies are as measure() requires them.
  void on_request(const domain::RequestRecord& record, const RequestLatency& latency);
  void on_steps(const domain::StepRecord& record) {
    if (options_.timeline != nullptr) {
      options_.timeline->on_steps(record);
    }
    if (options_.listener != nullptr) {
      options_.listener->on_steps(record);
    }
  }
  /// All gaps count, those of requests that do not complete too.
  void on_token_gaps(const domain::TokenGaps& gaps) { gaps_.add(gaps); }

  /// Requests that got an answer.
  [[nodiscard]] std::int64_t num_completed() const { return completed_; }

  /// The run in numbers. More can be recorded afterwards.
  [[nodiscard]] Summary summarise(const EngineCounts& engine);

  /// The quantiles of a series, once summarise() has found them.
  [[nodiscard]] const QuantileCurves& curves() const { return curves_; }

  /// Work of all requests, those of the warm-up too.
  [[nodiscard]] const WorkDone& work() const { return work_; }

  /// 32 hexadecimal digits over every request's record, the multiset of token gaps and the totals
  /// that the caller hands over: equal however steps were cut into runs, and however percentiles
  /// are kept.
  [[nodiscard]] std::string digest(std::span<const std::int64_t> totals);

  /// What the reader of the summary should know: that percentiles are approximate.
  [[nodiscard]] core::Warnings warnings() const;

 private:
  /// Whether a request is of the warm-up.
  [[nodiscard]] bool warms_up(const domain::RequestRecord& record) const {
    return (options_.warmup && record.arrival < *options_.warmup) ||
           (options_.measured_from != nullptr && record.arrival < *options_.measured_from);
  }
  void note_in_queue(const domain::RequestRecord& record);
  /// What needs the request's own numbers: parts of the fleet, targets, listeners.
  void hand_on(const domain::RequestRecord& record, const RequestLatency& latency);
  /// Which targets it met.
  std::array<bool, kNumMetrics> judge(const RequestMetrics& metrics);
  [[nodiscard]] std::optional<core::Duration> duration() const;
  /// Requests that ended without an answer.
  [[nodiscard]] std::int64_t num_failed() const;
  void fill_latencies(Summary& summary);
  void fill_rates(Summary& summary) const;
  void fill_slo(Summary& summary) const;
  void fill_overload(Summary& summary) const;

  RecorderOptions options_;
  RequestLatencies latencies_;
  Groups groups_;
  Fleet fleet_;
  TenantTable tenants_;
  GatewayWaits gateway_waits_;
  GapSamples gaps_;
  statistics::QueueGrowth queue_;  ///< An open loop's, from arrival to first schedule.
  std::array<std::int64_t, domain::kNumOutcomes> by_outcome_{};
  std::int64_t warmup_requests_ = 0;
  core::SimTime warmup_first_arrival_ = core::SimTime::never();
  core::SimTime warmup_last_end_;
  std::int64_t completed_ = 0;
  std::int64_t input_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
  std::int64_t cached_tokens_ = 0;
  std::int64_t preemptions_ = 0;
  std::int64_t good_ = 0;                                 ///< Met every target.
  std::array<std::int64_t, kNumMetrics> within_limit_{};  ///< Met that target.
  core::SimTime first_arrival_ = core::SimTime::never();
  core::SimTime last_end_;
  RecordDigest records_;
  WorkDone work_;
  QuantileCurves curves_;
};

}  // namespace ridgeline::metrics

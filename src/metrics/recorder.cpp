#include "metrics/recorder.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

std::optional<double> ratio(double part, double whole) {
  return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
}

/// Whole seconds and milliseconds stay what they are: one division, correctly rounded.
double to_seconds(core::Duration time) {
  return static_cast<double>(time.count()) / 1e12;
}
double to_milliseconds(core::Duration time) {
  return static_cast<double>(time.count()) / 1e9;
}

constexpr std::array<bool, kNumMetrics> kAllMet = {true, true, true, true};

bool all_of(const std::array<bool, kNumMetrics>& met) {
  return std::ranges::all_of(met, std::identity());
}

/// GPU time by kind, and on top what of the busy time the GPU spent waiting for the host.
void fill_engine(Summary& summary, const EngineCounts& engine) {
  summary.steps = engine.steps;
  summary.time_by_bottleneck = engine.step_time.by_bottleneck;
  const core::TimeSum waiting = std::max(engine.busy - engine.step_time.gpu(), core::TimeSum());
  summary.time_by_bottleneck[static_cast<std::size_t>(domain::Bottleneck::kOverhead)] += waiting;
  for (const auto time : summary.time_by_bottleneck) {
    summary.busy += time;
  }
  const auto blocks = static_cast<double>(engine.kv_blocks.value());
  summary.kv_cache.peak = ratio(static_cast<double>(engine.peak_used_blocks.value()), blocks);
  summary.kv_cache.mean = ratio(engine.used_block_seconds, blocks * summary.busy.to_seconds());
  summary.kv_cache.prefix_hit_rate = ratio(static_cast<double>(engine.prefix_hits.value()),
                                           static_cast<double>(engine.prefix_queries.value()));
}

/// Every completed request is of one part of the fleet; where there are no parts, of none.
template <class Part>
void check_sums(const Summary& whole, const std::vector<Part>& parts, const char* what) {
  std::int64_t requests = 0;
  std::int64_t tokens = 0;
  for (const Part& part : parts) {
    requests += part.completed;
    tokens += part.total_input_tokens + part.total_output_tokens;
  }
  RIDGELINE_CHECK(parts.empty() || (requests == whole.completed &&
                                    tokens == whole.total_input_tokens + whole.total_output_tokens),
                  what);
}

}  // namespace

Recorder::Recorder(const RecorderOptions& options)
    : options_(options),
      latencies_(options.percentiles),
      groups_(options.label_sets, options.percentiles),
      fleet_(options.instances, options.percentiles, options.pools),
      tenants_(options.tenants, options.percentiles),
      gateway_waits_(options.percentiles),
      gaps_(options.percentiles) {}

void Recorder::on_request(const domain::RequestRecord& record, const RequestLatency& latency) {
  records_.add(record);
  work_.add(record);
  if (warms_up(record)) {
    ++warmup_requests_;
    warmup_first_arrival_ = std::min(warmup_first_arrival_, record.arrival);
    if (completed(record.outcome)) {
      warmup_last_end_ = std::max(warmup_last_end_, latency.client_end);
      work_.warmup_output_tokens += record.output_tokens.value();
    }
    if (options_.timeline != nullptr) {
      options_.timeline->on_request(record, latency, kAllMet);
    }
    if (options_.listener != nullptr) {
      options_.listener->on_request(record, measure(record, latency));
    }
    return;
  }
  by_outcome_[static_cast<std::size_t>(record.outcome)] += 1;
  preemptions_ += record.preemptions;
  first_arrival_ = std::min(first_arrival_, record.arrival);
  if (completed(record.outcome)) {
    completed_ += 1;
    input_tokens_ += record.prompt_tokens.value();
    output_tokens_ += record.output_tokens.value();
    cached_tokens_ += record.cached_tokens.value();
    if (options_.gateway_queues) {
      gateway_waits_.add(record.gateway_wait);
    }
    last_end_ = std::max(last_end_, latency.client_end);
    if (options_.percentiles == Percentiles::kExact) {
      latencies_.add(record, latency);
    }
  }
  if (options_.open_loop) {
    note_in_queue(record);
  }
  hand_on(record, latency);
}

void Recorder::hand_on(const domain::RequestRecord& record, const RequestLatency& latency) {
  const bool exact = options_.percentiles == Percentiles::kExact;
  const bool counts = completed(record.outcome);
  const bool needed = options_.listener != nullptr || groups_.any() || fleet_.any() ||
                      tenants_.any() || (counts && (!exact || options_.slo.any()));
  if (!needed) {  // Nothing needs this request's own numbers.
    if (options_.timeline != nullptr) {
      options_.timeline->on_request(record, latency, kAllMet);
    }
    return;
  }
  const RequestMetrics metrics = measure(record, latency);
  auto within = kAllMet;
  if (counts) {
    if (!exact) {
      latencies_.add(metrics);
    }
    if (options_.slo.any()) {
      within = judge(metrics);
    }
  }
  const bool good = counts && all_of(within);
  if (options_.timeline != nullptr) {
    options_.timeline->on_request(record, latency, within);
  }
  if (groups_.any()) {
    groups_.add(record, latency, metrics, good);
  }
  if (fleet_.any()) {
    fleet_.add(record, latency, metrics);
  }
  if (tenants_.any()) {
    tenants_.add(record, latency, metrics, good);
  }
  if (options_.listener != nullptr) {
    options_.listener->on_request(record, metrics);
  }
}

void Recorder::note_in_queue(const domain::RequestRecord& record) {
  const bool scheduled = record.first_scheduled != core::SimTime::never();
  if (scheduled || record.outcome == domain::Outcome::kUnfinished) {
    queue_.come(record.arrival);
  }
  if (scheduled) {
    queue_.leave(record.first_scheduled);
  }
}

std::array<bool, kNumMetrics> Recorder::judge(const RequestMetrics& metrics) {
  const auto within = within_limits(options_.slo, metrics);
  for (std::size_t m = 0; m < kNumMetrics; ++m) {
    within_limit_[m] += within[m] ? 1 : 0;
  }
  good_ += all_of(within) ? 1 : 0;
  return within;
}

std::int64_t Recorder::num_failed() const {
  std::int64_t failed = 0;
  for (std::size_t i = 0; i < by_outcome_.size(); ++i) {
    const auto outcome = static_cast<domain::Outcome>(i);
    failed += completed(outcome) || outcome == domain::Outcome::kUnfinished ? 0 : by_outcome_[i];
  }
  return failed;
}

std::optional<core::Duration> Recorder::duration() const {
  return completed_ > 0 ? std::optional(last_end_ - first_arrival_) : std::nullopt;
}

Summary Recorder::summarise(const EngineCounts& engine) {
  Summary summary;
  summary.completed = completed_;
  summary.by_outcome = by_outcome_;
  summary.total_input_tokens = input_tokens_;
  summary.total_output_tokens = output_tokens_;
  summary.total_cached_tokens = cached_tokens_;
  summary.preemptions = preemptions_;
  fill_latencies(summary);
  fill_rates(summary);
  fill_slo(summary);
  fill_engine(summary, engine);
  fill_overload(summary);
  summary.groups = groups_.summarise(summary.duration_s, options_.slo.any());
  summary.fleet = fleet_.summarise();
  if (options_.warmup || options_.measured_from != nullptr) {
    summary.warmup_requests = warmup_requests_;
    if (warmup_requests_ > 0 && summary.duration_s) {
      work_.warmup_s = to_seconds(std::max(last_end_, warmup_last_end_) -
                                  std::min(first_arrival_, warmup_first_arrival_)) -
                       *summary.duration_s;
    }
  }
  if (summary.fleet && tenants_.any()) {
    summary.fleet->tenants = tenants_.summarise(summary.duration_s, options_.slo.any());
    summary.fleet->fairness = jain_index(summary.fleet->tenants);
    summary.fleet->fairness_of_demand = jain_index_of_demand(summary.fleet->tenants);
  }
  if (summary.fleet) {
    check_sums(summary, summary.fleet->instances, "what a fleet completed its instances did");
    check_sums(summary, summary.fleet->tenants, "what a fleet completed was its tenants'");
  }
  if (summary.fleet && options_.gateway_queues) {
    summary.fleet->admission.emplace().queue_ms = gateway_waits_.distribution();
  }
  return summary;
}

void Recorder::fill_latencies(Summary& summary) {
  QuantileCurves* const curves = options_.curves ? &curves_ : nullptr;
  // Engines do not tell gaps of the warm-up apart, and those of all are no figure of the rest.
  const auto gaps = warmup_requests_ > 0
                        ? std::optional<Distribution>()
                        : gaps_.distribution_ms(curves == nullptr ? nullptr : &curves->itl_ms);
  // The way to the client is the same for each token of a request, so gaps have one clock.
  const auto [queue_time, client, server] = latencies_.distributions_ms(curves);
  summary.client.by_metric = {client.ttft, client.tpot, gaps, client.e2e};
  summary.server.by_metric = {server.ttft, server.tpot, gaps, server.e2e};
  summary.queue_time_ms = queue_time;
}

void Recorder::fill_rates(Summary& summary) const {
  const auto span = duration();
  if (!span) {
    return;
  }
  const double seconds = to_seconds(*span);
  summary.duration_s = seconds;
  summary.request_throughput = ratio(static_cast<double>(completed_), seconds);
  summary.output_throughput = ratio(static_cast<double>(output_tokens_), seconds);
  summary.total_token_throughput =
      ratio(static_cast<double>(input_tokens_ + output_tokens_), seconds);
  if (options_.slo.any()) {
    summary.goodput = ratio(static_cast<double>(good_), seconds);
    summary.good_share =
        ratio(static_cast<double>(good_), static_cast<double>(completed_ + num_failed()));
  }
}

void Recorder::fill_slo(Summary& summary) const {
  for (std::size_t m = 0; m < kNumMetrics; ++m) {
    const auto& limit = options_.slo.limits[m];
    if (!limit) {
      continue;
    }
    SloVerdict verdict;
    verdict.metric = static_cast<Metric>(m);
    verdict.statistic = options_.slo.statistic;
    verdict.limit_ms = to_milliseconds(*limit);
    verdict.share = ratio(static_cast<double>(within_limit_[m]),
                          static_cast<double>(completed_ + num_failed()));
    if (const auto& distribution = summary.client.by_metric[m]) {
      verdict.value_ms = distribution->of(options_.slo.statistic);
      verdict.met = *verdict.value_ms <= verdict.limit_ms;
    }
    if (num_failed() > 0 && *verdict.share < share_within(options_.slo.statistic)) {
      verdict.met = false;
    }
    summary.slo.push_back(verdict);
  }
}

void Recorder::fill_overload(Summary& summary) const {
  const bool at_client = options_.held_back != nullptr;
  if (!options_.open_loop && !at_client) {
    return;
  }
  const statistics::QueueGrowth& queue = at_client ? *options_.held_back : queue_;
  if (const auto backlog = queue.backlog(summary.request_throughput)) {
    summary.overload = Overload{.backlog = *backlog,
                                .first_s = queue.first().to_seconds(),
                                .at_client = at_client,
                                .served_only = options_.of_trace};
  }
}

std::string Recorder::digest(std::span<const std::int64_t> totals) {
  return records_.hex(gaps_.fingerprint(), totals);
}

core::Warnings Recorder::warnings() const {
  if (options_.percentiles == Percentiles::kExact) {
    return {};
  }
  return {{.code = "W-percentile-sketch",
           .message = fmt::format("percentiles are within {:.2g} % of the exact ones",
                                  statistics::QuantileSketch::kRelativeError * 100.0),
           .hint = "--percentiles exact"}};
}

}  // namespace ridgeline::metrics

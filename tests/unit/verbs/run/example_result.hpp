#pragma once

#include <string>

#include "document/document.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs::fixtures {

/// A distribution whose seven statistics are base + 0, 1, ..., 6 in the order of
/// metrics::Statistic.
inline metrics::Distribution ramp(double base) {
  metrics::Distribution values;
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    values.values[i] = base + static_cast<double>(i);
  }
  return values;
}

/// A made-up run of 1 000 requests with every number present and one target missed.
inline RunResult example_result() {
  RunResult result;
  result.headline = {"llama-3.1-8b on h100", "8 req/s (Poisson)", "seed 1"};
  result.run_info = {.version = "0.1.0",
                     .wall_time_s = 0.41,
                     .host = "box",
                     .engine_core = "fast",
                     .requests_per_second = 2439.0,
                     .jumped_share = 0.75,
                     .simulated_per_wall = 8780.0};
  result.config = document::Node::map(
      {{.key = "seed", .value = document::Node::integer(1, {}), .where = {}}}, core::Location{});
  auto& summary = result.summary;
  summary.completed = 1000;
  summary.by_outcome = {998, 2, 3, 0, 1};
  summary.total_input_tokens = 512000;
  summary.total_output_tokens = 256000;
  summary.total_cached_tokens = 4096;
  summary.duration_s = 3600.0;
  summary.client.by_metric = {ramp(182.0), ramp(24.25), ramp(23.0), ramp(6840.0)};
  summary.server.by_metric = {ramp(180.0), ramp(24.0), ramp(23.0), ramp(6800.0)};
  summary.queue_time_ms = ramp(0.5);
  summary.request_throughput = 11.9;
  summary.output_throughput = 2841.0;
  summary.total_token_throughput = 8523.4;
  summary.goodput = 11.6;
  summary.good_share = 0.978;
  summary.slo = {{.metric = metrics::Metric::kTtft,
                  .statistic = metrics::Statistic::kP99,
                  .limit_ms = 1000.0,
                  .value_ms = 187.0,
                  .met = true,
                  .share = 1.0},
                 {.metric = metrics::Metric::kTpot,
                  .statistic = metrics::Statistic::kP99,
                  .limit_ms = 20.0,
                  .value_ms = 29.25,
                  .met = false,
                  .share = 0.978}};
  summary.preemptions = 17;
  summary.kv_cache = {.peak = 0.914, .mean = 0.5, .prefix_hit_rate = 0.382};
  summary.time_by_bottleneck = {core::Duration::seconds(12),
                                core::Duration::seconds(81),
                                core::Duration::seconds(5),
                                core::Duration::seconds(2)};
  summary.busy = core::Duration::seconds(100);
  summary.steps = 46757;
  result.warnings = {{.code = "W-max-model-len",
                      .message = "max_model_len is 8192 because no more fits",
                      .hint = "--max-model-len"}};
  result.digest = "9f3c17aa";
  return result;
}

/// A run in which nothing completed.
inline RunResult rejected_result(std::int64_t requests) {
  RunResult result;
  result.run_info.version = "0.1.0";
  result.run_info.engine_core = "fast";
  result.summary.by_outcome[static_cast<std::size_t>(domain::Outcome::kRejected)] = requests;
  result.digest = "00";
  return result;
}

}  // namespace ridgeline::verbs::fixtures

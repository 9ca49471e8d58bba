#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/lock_step_summary.hpp"
#include "metrics/offload_summary.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/summary.hpp"

/// What fleets of a few instances did.
namespace ridgeline::test {

inline metrics::Summary fleet_of(std::size_t instances) {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.router = "least-request";
  fleet.decisions = 1200;
  fleet.ties = 30;
  fleet.request_variation = 0.05;
  fleet.token_variation = 0.1;
  fleet.instances.resize(instances);
  for (auto& instance : fleet.instances) {
    instance.requests = 1200 / static_cast<std::int64_t>(instances);
    instance.busy = 0.5;
  }
  return summary;
}

inline metrics::Summary with_pools() {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.pools.push_back({.name = "big",
                         .model = "llama",
                         .gpu = "H100",
                         .instances = 2,
                         .gpus = 4,
                         .gpu_hours = 8.0,
                         .cost = 20.0});
  fleet.pools.back().together.requests = 70;
  fleet.pools.back().together.busy = 0.5;
  fleet.pools.push_back(
      {.name = "old", .model = "llama", .gpu = "A100", .instances = 1, .gpus = 1});
  return summary;
}

inline metrics::Summary summary_of_two_tenants() {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.instances.resize(1);
  fleet.admission = metrics::AdmissionSummary{.policy = "priority",
                                              .flow_control = true,
                                              .admitted = 1900,
                                              .evicted = {},
                                              .rejected = {{"saturated", 90}, {"queue_full", 0}},
                                              .queue_ms = {}};
  fleet.admission->queue_ms.emplace().values.fill(12.5);
  fleet.tenants.resize(2);
  fleet.tenants[0].name = "gold";
  fleet.tenants[0].requests = 1500;
  fleet.tenants[0].share = 0.75;
  fleet.tenants[1].name = "batch";
  fleet.tenants[1].rejected = 80;
  fleet.tenants[1].expired = 10;
  fleet.fairness = 0.8;
  fleet.fairness_of_demand = 0.9;
  return summary;
}

inline const metrics::LockStepSummary kTwoOfTwo = {
    .ranks = 2,
    .per_rank = {{.steps = 1000, .dummy_steps = 10, .waited = 0.1},
                 {.steps = 1000, .dummy_steps = 30, .waited = 0.2},
                 {.steps = 0, .dummy_steps = 0, .waited = {}},
                 {.steps = 0, .dummy_steps = 0, .waited = {}}}};

inline metrics::OffloadSummary some_tiers() {
  return {.block_tokens = 16,
          .query_tokens = 40'000,
          .hit_tokens = 10'000,
          .hit_rate = 0.25,
          .loads = 12,
          .load_ms = 30.5,
          .recomputed = 2,
          .tiers = {{.tier = "host",
                     .capacity_blocks = 5000,
                     .peak_blocks = 4000,
                     .hit_tokens = 10'000,
                     .loads = 12,
                     .bytes_read = 2'500'000'000,
                     .read_ms = 20.25,
                     .bytes_written = 5'000'000'000,
                     .blocks_written = 2500,
                     .blocks_evicted = 7,
                     .blocks_refused = 3,
                     .read_utilisation = 0.125,
                     .write_utilisation = 0.25}}};
}

inline metrics::TransferSummary some_transfers() {
  return {.prefill_instances = 2,
          .requests = 1500,
          .count = 1400,
          .failed = 3,
          .bytes = 2'500'000'000,
          .ms = 21.5,
          .wait_ms = 1.25,
          .link_utilisation = 0.125,
          .ttft_parts_ms = {1.0, 40.0, 0.5, 0.0, 2.0, 21.5, 9.0}};
}

inline metrics::OperationsSummary busy_day() {
  metrics::OperationsSummary all;
  all.scaling =
      metrics::ScalingSummary{.policy = "hpa",
                              .pools = {""},
                              .events = {{.at_s = 15.0, .from = 2, .to = 4, .reason = "up"},
                                         {.at_s = 900.0, .from = 4, .to = 3, .reason = "down"}},
                              .replica_seconds = 7200.0,
                              .gpu_hours = 4.0,
                              .cost = 10.0};
  for (int i = 0; i < 6; ++i) {
    all.faults.push_back(
        {.kind = "crash", .instance = i, .at_s = 30.0, .over_s = 50.0, .failed_requests = 2});
  }
  all.retries = {.attempts = 7, .retried_requests = 5, .wasted_tokens = 1234};
  all.held_requests = 1;
  return all;
}

inline std::vector<metrics::UpdateSummary> two_updates() {
  return {{.at_s = 60.0,
           .instances = 4,
           .replaced = 4,
           .fewest_ready = 3,
           .over_s = 198.0,
           .failed_requests = 5,
           .rerouted_requests = 2},
          {.pool = "decode",
           .at_s = 60.0,
           .instances = 2,
           .replaced = 1,
           .starting = 1,
           .fewest_ready = 1}};
}

}  // namespace ridgeline::test

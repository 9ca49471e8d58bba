#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "cluster/admission/registry.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/cluster.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/gateway.hpp"
#include "cluster/kv_offload.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/operations.hpp"
#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/store/eviction.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "routing/registry.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

/// What random clusters of several kinds have in common.
namespace ridgeline::test {

/// 0 to that.
inline core::Duration up_to_microseconds(std::int64_t most) {
  return core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, most + 1));
}
inline core::Duration from_1_to_microseconds(std::int64_t most) {
  return core::Duration::microseconds(1) + up_to_microseconds(most);
}

/// A small engine in corners that a real one seldom sees: few seats, few blocks.
inline engine::EngineOptions random_engine() {
  engine::EngineOptions options;
  options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
  options.max_num_batched_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(64, 512));
  options.max_model_len = core::Tokens(512);
  options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(34, 80));
  options.async_scheduling = *rc::gen::arbitrary<bool>();
  return options;
}

inline LinearModel::Costs random_costs() {
  LinearModel::Costs costs;
  costs.per_context = core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, 1000));
  return costs;
}

inline cluster::GatewayTimes random_times() {
  return {.gateway_latency = up_to_microseconds(2000),
          .notice_latency = up_to_microseconds(2000),
          .refresh_interval = from_1_to_microseconds(4000),
          .kv_events_delay = up_to_microseconds(*rc::gen::element(0, 4000))};
}

/// Fewer than `most`, up to `gap_us` apart, a few of them much longer; prompts that begin alike,
/// some too long for the engine.
inline std::vector<domain::Request> random_requests(std::uint32_t most, std::int64_t gap_us) {
  std::vector<domain::Request> requests;
  const auto count = *rc::gen::inRange<std::uint32_t>(1, most);
  core::SimTime now;
  for (std::uint32_t id = 0; id < count; ++id) {
    constexpr std::int64_t kPause = 40;
    now += up_to_microseconds(*rc::gen::inRange(0, 16) == 0 ? kPause * gap_us : gap_us);
    domain::Request request;
    request.id = core::RequestId(id);
    request.arrival = now;
    request.prompt_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 540));
    request.output_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 40));
    request.max_tokens = request.output_tokens;
    request.session = core::SessionId(*rc::gen::inRange<std::uint32_t>(0, 4));
    request.prompt = {{*rc::gen::inRange<std::uint64_t>(0, 3),
                       core::Tokens(*rc::gen::inRange<std::int64_t>(1, 256))}};
    request.prompt_tokens = std::max(request.prompt_tokens, request.prompt[0].length);
    requests.push_back(request);
  }
  return requests;
}

/// One to three tiers outside the GPUs, of a few blocks each, of instances of one or two pools.
inline cluster::OffloadOptions random_tiers(std::int64_t instances) {
  cluster::OffloadOptions offload;
  constexpr std::int64_t kBlockBytes = 1000;
  offload.layouts[0].bytes_per_block = kBlockBytes;
  offload.layouts[0].blocks_per_chunk = *rc::gen::inRange<std::int64_t>(1, 4);
  std::int64_t largest = kBlockBytes * offload.layouts[0].blocks_per_chunk;
  if (*rc::gen::arbitrary<bool>()) {
    cluster::KvLayout& other = offload.layouts.emplace_back();
    other.bytes_per_block = *rc::gen::element<std::int64_t>(1000, 700, 2300);
    other.blocks_per_chunk = *rc::gen::inRange<std::int64_t>(1, 4);
    other.key_salt = *rc::gen::element<std::uint64_t>(1, 12345);
    largest = std::max(largest, other.bytes_per_block * other.blocks_per_chunk);
    for (std::int64_t i = 0; i < instances; ++i) {
      offload.layout_of.push_back(*rc::gen::inRange<std::size_t>(0, 2));
    }
  }
  const auto there = *rc::gen::inRange(1, 8);  // A bit for each tier.
  for (std::size_t kind = 0; kind < cluster::kNumTiers; ++kind) {
    const auto& eviction =
        store::evictions()[*rc::gen::inRange<std::size_t>(0, store::evictions().size())];
    offload.tiers[kind] = {
        .bytes = (there >> kind) % 2 == 1 ? largest * *rc::gen::inRange<std::int64_t>(1, 60) : 0,
        .eviction = eviction.make,
        .read_rate = 1'000'000 * *rc::gen::inRange<std::int64_t>(1, 20),
        .write_rate = 1'000'000 * *rc::gen::inRange<std::int64_t>(1, 20),
        .latency = up_to_microseconds(300)};
  }
  offload.store_rate = *rc::gen::element<std::int64_t>(0, 3'000'000);
  offload.instances_per_host = *rc::gen::inRange<std::int64_t>(1, 3);
  offload.rules.promote_on_hit = *rc::gen::arbitrary<bool>();
  offload.write_back = *rc::gen::arbitrary<bool>();
  offload.stores_answers = *rc::gen::arbitrary<bool>();
  offload.rules.min_hit_blocks = *rc::gen::inRange<std::int64_t>(1, 4);
  offload.rules.store_threshold = *rc::gen::inRange<std::int64_t>(0, 3);
  offload.sharing = *rc::gen::element(link::Sharing::kMaxMin, link::Sharing::kFifo);
  return offload;
}

/// One fault of an instance or of the gateway, within the first 80 ms.
inline faults::ListedFault random_fault(std::int64_t places) {
  using faults::FaultKind;
  faults::Fault fault;
  fault.kind = *rc::gen::element(FaultKind::kCrash,
                                 FaultKind::kSlowdown,
                                 FaultKind::kHang,
                                 FaultKind::kScrapeLoss,
                                 FaultKind::kEventLoss,
                                 FaultKind::kGatewayRestart);
  fault.replays_events = *rc::gen::arbitrary<bool>();
  fault.at = core::SimTime::at(up_to_microseconds(80'000));
  if (fault.kind == FaultKind::kGatewayRestart) {
    fault.cuts_requests = *rc::gen::arbitrary<bool>();
    return {.fault = fault};
  }
  fault.instance =
      core::InstanceId(*rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(places)));
  if (*rc::gen::arbitrary<bool>()) {
    fault.lasts = up_to_microseconds(20'000);
  }
  if (fault.kind == FaultKind::kSlowdown) {
    fault.factor_thousandths = *rc::gen::element<std::int64_t>(1500, 700, 4321);
  }
  if (*rc::gen::element(false, false, true)) {  // A pool, a share of it, or a host.
    const std::int64_t first = std::int64_t{fault.instance.value()};
    const std::int64_t count = *rc::gen::inRange<std::int64_t>(1, places - first + 1);
    return {.fault = fault,
            .share = *rc::gen::element<std::optional<double>>(std::nullopt, 0.5),
            .among = faults::Neighbours{.first = first, .count = count}};
  }
  return {.fault = fault};
}

/// By chance: of instances, of nodes and, where KV is sent between hosts, of links.
inline std::vector<faults::RandomFaults> random_faults_by_chance(bool has_links) {
  using faults::FaultKind;
  std::vector<faults::RandomFaults> all;
  const auto add = [&](FaultKind kind, bool of_node) {
    all.push_back({.kind = kind,
                   .of_node = of_node,
                   .mtbf = core::Duration::milliseconds(30) + up_to_microseconds(50'000),
                   .mttr = up_to_microseconds(9000),
                   .factor_thousandths = kind == FaultKind::kLinkDegraded ? 137 : 1000});
  };
  const auto sometimes = [] { return *rc::gen::element(false, false, false, false, true); };
  for (const FaultKind kind : {FaultKind::kCrash, FaultKind::kHang}) {
    if (sometimes()) {
      add(kind, false);
    }
  }
  if (sometimes()) {
    add(FaultKind::kCrash, true);
  }
  for (const FaultKind kind : {FaultKind::kLinkDegraded, FaultKind::kLinkDown}) {
    if (has_links && sometimes()) {
      add(kind, false);
    }
  }
  return all;
}

/// Caches are remembered for as long as events may be lost.
inline void remember_lost_events(const std::vector<faults::ListedFault>& listed,
                                 cluster::GatewayTimes& times) {
  for (const faults::ListedFault& one : listed) {
    if (one.fault.kind == faults::FaultKind::kEventLoss) {
      times.longest_event_loss = core::Duration::saturating_sum(
          times.longest_event_loss, one.fault.lasts.value_or(core::Duration::max()));
      times.may_forget_events |= !one.fault.replays_events;
    }
  }
}

/// Updates of all places, or of some; where several are, they may begin at one instant.
inline std::vector<cluster::PlannedUpdate> random_updates(const std::vector<cluster::Places>& all) {
  std::vector<cluster::PlannedUpdate> updates;
  const core::SimTime at = core::SimTime::at(up_to_microseconds(40'000));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t initial = all[i].initial;
    const std::int64_t free = static_cast<std::int64_t>(all[i].count) - initial;
    const std::int64_t surge = *rc::gen::inRange<std::int64_t>(0, free + 1);
    const std::int64_t missing = *rc::gen::inRange<std::int64_t>(surge == 0 ? 1 : 0, initial + 1);
    if (*rc::gen::element(true, true, false)) {
      updates.push_back({.at = at + up_to_microseconds(*rc::gen::element(0, 9000)),
                         .places = i,
                         .rule = {.surge = {.value = surge}, .unavailable = {.value = missing}}});
    }
  }
  return updates;
}

/// Settings of any autoscaler.
inline scaling::ScalerSettings random_settings() {
  scaling::ScalerSettings settings;
  settings.scaling_interval = from_1_to_microseconds(9000);
  settings.metric = *rc::gen::element(scaling::Metric::kRequests,
                                      scaling::Metric::kKvUsage,
                                      scaling::Metric::kBusy,
                                      scaling::Metric::kInFlightTokens,
                                      scaling::Metric::kTtft,
                                      scaling::Metric::kTpot);
  settings.metric_quantile = *rc::gen::element(0.5, 0.9, 1.0);
  settings.metric_window = from_1_to_microseconds(20'000);
  settings.target = *rc::gen::element(0.3, 1.0, 3.0);
  if (scaling::is_latency(settings.metric)) {
    settings.target *= 0.003;  // Seconds.
  }
  settings.stabilization_window = up_to_microseconds(20'000);
  settings.analyzer = *rc::gen::element(scaling::Analyzer::kV1, scaling::Analyzer::kV2);
  core::SimTime at;
  for (auto left = *rc::gen::inRange(1, 5); left > 0; --left) {
    at += from_1_to_microseconds(20'000);
    settings.replicas_at.emplace_back(at, *rc::gen::inRange<std::int64_t>(0, 9));
  }
  return settings;
}

/// What an autoscaler with these settings looks at of requests.
inline std::optional<scaling::LatencyWindow> latency_of(const scaling::ScalerSettings& settings) {
  return scaling::is_latency(settings.metric)
             ? std::optional(scaling::LatencyWindow{.metric = settings.metric,
                                                    .quantile = settings.metric_quantile,
                                                    .lasts = settings.metric_window})
             : std::nullopt;
}

/// Submits all requests, gives those up that are to be, and goes on until nothing is left to do.
inline void run_to_the_end(cluster::Cluster& cluster,
                           const std::vector<domain::Request>& requests,
                           const std::vector<Abort>& aborts) {
  for (const domain::Request& request : requests) {
    cluster.submit(request);
  }
  for (const Abort& abort : aborts) {
    cluster.advance(abort.at, false, kNoBudget);
    cluster.abort(abort.id, abort.at);
  }
  RC_ASSERT(cluster.advance(core::SimTime::never(), false, kNoBudget) == engine::Pause::kIdle);
}

/// What every run is compared by.
struct Ended {
  std::vector<domain::RequestRecord> requests;  ///< In the order of their ids.
  std::map<std::int64_t, std::int64_t> gaps;
  std::int64_t steps = 0;

  bool operator==(const Ended&) const = default;
};

inline Ended ended(const RecordingSink& sink, std::int64_t steps) {
  Ended all{.requests = sink.requests, .gaps = sink.gaps, .steps = steps};
  std::ranges::sort(all.requests, {}, &domain::RequestRecord::id);
  return all;
}

}  // namespace ridgeline::test

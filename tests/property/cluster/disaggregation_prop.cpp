#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/disaggregation.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/gateway.hpp"
#include "cluster/kv_offload.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling_part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/settings.hpp"
#include "random_cluster.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/disaggregated.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/offloaded.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

using test::ended;
using test::Ended;
using test::random_costs;
using test::random_engine;
using test::random_requests;
using test::random_times;
using test::run_to_the_end;
using test::up_to_microseconds;

/// A small cluster with prefill and decode apart, and its requests, of which some are given up.
struct RandomHandOvers {
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
  std::int64_t ranks = 1;  ///< Ranks of each group in lock-step.
  std::int64_t decode_instances = 1;
  GatewayTimes times;
  test::DisaggregationSetup setup;
  std::vector<domain::Request> requests;
  std::vector<test::Abort> aborts;
  std::vector<faults::ListedFault> faults;
  std::vector<faults::RandomFaults> random;
  OperationsInputs operations;
  /// One per kind, prefill first; null: its number is fixed.
  std::array<const scaling::ScalerEntry*, 2> scalers = {};
  std::array<scaling::ScalerSettings, 2> scaling;
  std::array<std::int64_t, 2> fewest = {};
  core::Duration metrics_interval;
  std::int64_t threads = 1;
  std::optional<OffloadOptions> tiers;  ///< Tiers of KV outside the GPUs.

  [[nodiscard]] std::int64_t instances() const {
    return setup.prefill_instances + decode_instances;
  }
};

/// Requests, of which some are given up.
void add_requests(RandomHandOvers& all) {
  all.requests = random_requests(50, 2500);
  for (const domain::Request& request : all.requests) {
    if (*rc::gen::inRange(0, 6) == 0) {
      all.aborts.push_back({.at = request.arrival + up_to_microseconds(30'000), .id = request.id});
    }
  }
  std::ranges::stable_sort(all.aborts, {}, &test::Abort::at);
}

/// A fault of a host's card, or of the fabric, which may have no limit.
faults::ListedFault random_link_fault(const RandomHandOvers& all) {
  const bool is_down = *rc::gen::arbitrary<bool>();
  faults::Fault fault{
      .kind = is_down ? faults::FaultKind::kLinkDown : faults::FaultKind::kLinkDegraded,
      .at = core::SimTime::at(up_to_microseconds(80'000)),
      .lasts = up_to_microseconds(20'000),
      .factor_thousandths = is_down ? 1000 : *rc::gen::element(1, 137, 500)};
  if (*rc::gen::element(true, true, false)) {
    const std::int64_t per_host = all.setup.transfer.topology.instances_per_host;
    const std::int64_t hosts = (all.instances() + per_host - 1) / per_host;
    fault.host = *rc::gen::inRange<std::int64_t>(0, hosts);
  }
  return {.fault = fault};
}

/// Crashes, hangs and the like of instances of either kind, and of the gateways; and retries.
void add_faults(RandomHandOvers& all) {
  all.setup.may_change = true;
  for (auto left = *rc::gen::inRange(0, 6); left > 0; --left) {
    all.faults.push_back(test::random_fault(all.instances()));
  }
  for (auto left = *rc::gen::inRange(0, 4); left > 0; --left) {
    all.faults.push_back(random_link_fault(all));
  }
  test::remember_lost_events(all.faults, all.times);
  all.random = test::random_faults_by_chance(true);
  all.operations.instances_per_host = all.setup.transfer.topology.instances_per_host;
  all.operations.initial_instances = all.instances();
  all.operations.retries = {.max_retries = *rc::gen::inRange<std::int64_t>(0, 4),
                            .retry_backoff = up_to_microseconds(3000)};
  all.operations.health_check = {.interval = test::from_1_to_microseconds(9000), .failures = 2};
  all.operations.cold_start = {.schedule = {},
                               .pull = {},
                               .load = {.mean = up_to_microseconds(9000)},
                               .compile = {},
                               .capture = {},
                               .warm_up = {}};
}

/// Instances of both kinds come and go.
void add_scaling(RandomHandOvers& all) {
  const auto prefill = static_cast<std::size_t>(all.setup.prefill_instances);
  const auto decode = static_cast<std::size_t>(all.decode_instances);
  all.operations.places = {{.first = 0, .count = prefill}, {.first = prefill, .count = decode}};
  const auto scalers = scaling::scalers();
  const bool is_scaled = *rc::gen::element(true, true, false);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    Places& places = all.operations.places[kind];
    const auto most = static_cast<std::int64_t>(places.count);
    places.initial = *rc::gen::inRange<std::int64_t>(1, most + 1);
    all.fewest[kind] = *rc::gen::inRange<std::int64_t>(1, places.initial + 1);
    if (is_scaled && *rc::gen::element(true, true, false)) {
      all.scalers[kind] = &scalers[*rc::gen::inRange<std::size_t>(0, scalers.size())];
      all.scaling[kind] = test::random_settings();
      all.scaling[kind].role = kind == 0 ? scaling::Role::kPrefill : scaling::Role::kDecode;
    }
  }
  all.metrics_interval = test::from_1_to_microseconds(9000);
  if (*rc::gen::arbitrary<bool>()) {
    all.operations.drain_timeout = up_to_microseconds(9000);
  }
  if (*rc::gen::arbitrary<bool>()) {
    all.operations.updates = test::random_updates(all.operations.places);
  }
}

/// `ranks`: of each group in lock-step, of which no instance fails, comes or goes.
RandomHandOvers random_hand_overs(std::int64_t ranks = 1) {
  RandomHandOvers all;
  all.ranks = ranks;
  all.options = random_engine();
  all.options.kv_transfer = true;
  all.options.profile =
      *engine::find_profile(*rc::gen::element<std::string>("0.11", "0.15", "0.19", "0.20", "0.28"));
  if (*rc::gen::element(false, false, true)) {
    all.options.profile.reserve_full_prompt = false;  // --no-scheduler-reserve-full-isl
  }
  all.options.enable_prefix_caching = *rc::gen::element(true, true, false);
  all.options.long_prefill_token_threshold = core::Tokens(*rc::gen::element(0, 0, 24));
  all.costs = random_costs();
  all.decode_instances = ranks * *rc::gen::inRange<std::int64_t>(1, 4);
  all.times = random_times();
  const bool counts = *rc::gen::arbitrary<bool>();
  all.setup = {
      .prefill_instances = ranks * *rc::gen::inRange<std::int64_t>(1, 4),
      .prefill_router =
          counts ? routing::maker_of("least-request") : routing::maker_of("round-robin"),
      .times = all.times,
      .decider = disaggregation::make_prefix_based,
      .parameters = {.non_cached_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 100))},
      .order = *rc::gen::element(disaggregation::LegOrder::kDecodeFirst,
                                 disaggregation::LegOrder::kPrefillFirst),
      .first_token = *rc::gen::element(disaggregation::FirstToken::kPrefill,
                                       disaggregation::FirstToken::kDecode)};
  all.setup.transfer = {
      .mode = *rc::gen::element(disaggregation::TransferMode::kAfterPrefill,
                                disaggregation::TransferMode::kPush,
                                disaggregation::TransferMode::kLayerWise),
      .topology = {.network_card = 1'000'000 * *rc::gen::inRange<std::int64_t>(1, 50),
                   .fabric = *rc::gen::element<std::int64_t>(0, 5'000'000),
                   .instances_per_host = *rc::gen::inRange<std::int64_t>(1, 3)},
      .sharing = *rc::gen::element(link::Sharing::kMaxMin, link::Sharing::kFifo),
      .bytes_per_block = 1000,
      .block_size = all.options.block_size,
      .layers = *rc::gen::inRange<std::int64_t>(1, 6),
      .setup = up_to_microseconds(500),
      .per_block = up_to_microseconds(10),
      .lease = core::Duration::microseconds(10) + up_to_microseconds(100'000),
      .failure = *rc::gen::element(LoadFailure::kFail, LoadFailure::kRecompute)};
  if (*rc::gen::arbitrary<bool>()) {  // Instances of several sizes.
    for (std::int64_t i = 0; i < all.instances(); ++i) {
      all.setup.transfer.topology.own_cards.push_back(*rc::gen::inRange<std::int64_t>(1, 4));
      all.setup.transfer.bytes_per_block_of.push_back(*rc::gen::inRange<std::int64_t>(1, 3000));
    }
  }
  if (all.setup.transfer.mode != disaggregation::TransferMode::kAfterPrefill) {
    all.setup.first_token = disaggregation::FirstToken::kDecode;
  }
  if (*rc::gen::element(false, false, true)) {
    all.tiers = test::random_tiers(all.instances());
    all.options.kv_connector = all.options.enable_prefix_caching = true;
  }
  add_requests(all);
  return all;
}

/// Hand-overs of TensorRT-LLM's servers, whose first token comes with the KV.
RandomHandOvers random_hand_overs_of_tensorrt(std::int64_t ranks) {
  RandomHandOvers all = random_hand_overs(ranks);
  all.tiers.reset();
  all.options.kv_connector = false;
  all.options.scheduler = "tensorrt-llm";
  all.setup.first_token = disaggregation::FirstToken::kTransfer;
  all.setup.transfer.failure = LoadFailure::kFail;
  all.setup.transfer.mode = disaggregation::TransferMode::kAfterPrefill;
  return all;
}

/// Hand-overs of SGLang's servers, of which a decode server takes requests back where it lacks
/// room.
RandomHandOvers random_hand_overs_of_sglang(std::int64_t ranks) {
  RandomHandOvers all = random_hand_overs(ranks);
  all.tiers.reset();
  all.options.kv_connector = false;
  all.options.scheduler = "sglang";
  constexpr std::int64_t kTokensOfBlock = 16;
  namespace sglang = engine::sglang;
  auto own = std::make_shared<sglang::Options>();
  own->rules = sglang::rules_of(*rc::gen::element<std::string>("0.5.15", "0.5.20", "0.5.23"));
  own->page_size = *rc::gen::element<std::int64_t>(1, kTokensOfBlock);
  own->max_total_num_tokens = all.options.num_gpu_blocks.value() * kTokensOfBlock;
  own->context_length = all.options.max_model_len.value();
  own->max_running_requests = all.options.max_num_seqs;
  own->chunked_prefill_size = *rc::gen::element<std::int64_t>(0, 64, 128);
  own->disable_radix_cache = !all.options.enable_prefix_caching;
  own->overlap = all.options.async_scheduling;
  own->num_reserved_decode_tokens = *rc::gen::element<std::int64_t>(0, 8, 64, 512);
  own->retraction_backup = *rc::gen::element(sglang::RetractionBackup::kHostPool,
                                             sglang::RetractionBackup::kCpuTensor,
                                             sglang::RetractionBackup::kNone);
  all.options.block_size = core::Tokens(own->page_size);
  all.setup.transfer.block_size = all.options.block_size;
  all.options.own = std::move(own);
  all.setup.decider = disaggregation::make_always;
  all.setup.order = disaggregation::LegOrder::kDecodeFirst;
  all.setup.first_token = disaggregation::FirstToken::kDecode;
  all.setup.transfer.failure = LoadFailure::kFail;
  all.setup.transfer.mode = disaggregation::TransferMode::kPush;
  return all;
}

struct HandedOver {
  Ended ended;
  TransferTotals transfers;
  std::int64_t retries = 0;
  core::Tokens wasted = {};
  std::int64_t scale_events = 0;
  std::vector<UpdateReport> updates = {};
  OffloadTotals tiers = {};
};

PartMaker faults_part(const RandomHandOvers& all, Operations*& made) {
  return {.kind = PartKind::kFaults, .make = [&all, &made](Fleet& fleet) {
            OperationsInputs own = all.operations;
            own.faults = faults::FaultPlan(all.faults, all.random, all.instances(), 3);
            own.new_routers = [&all] {
              Gateway::Routers one;
              one.push_back(all.setup.prefill_router({}));
              return one;
            };
            auto part = std::make_unique<Operations>(fleet, std::move(own));
            made = part.get();
            return part;
          }};
}

PartMaker scaling_part(const RandomHandOvers& all, std::size_t kind, Operations*& operations) {
  return {.kind = PartKind::kScaling, .make = [&all, kind, &operations](Fleet& fleet) {
            return std::make_unique<ScalingPart>(
                fleet,
                *operations,
                ScalingInputs{.scaler = all.scalers[kind]->make(all.scaling[kind]),
                              .pools = {{.places = kind,
                                         .min_replicas = all.fewest[kind],
                                         .max_replicas = static_cast<std::int64_t>(
                                             all.operations.places[kind].count),
                                         .kv_capacity = core::Tokens(1024),
                                         .context = core::Tokens(512)}},
                              .metrics_interval = all.metrics_interval,
                              .reads_busy = true,
                              .latency = test::latency_of(all.scaling[kind]),
                              .sees_all_requests = kind == 0});
          }};
}

HandedOver run(const RandomHandOvers& all, bool eager, bool jump) {
  test::RecordingSink sink;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  const engine::RequestPath path;
  const auto part = std::make_shared<Disaggregation*>();
  std::vector<PartMaker> parts;
  parts.push_back(test::disaggregation_part(all.setup, part));
  const auto tiers = std::make_shared<KvOffload*>(nullptr);
  if (all.tiers) {
    parts.push_back(test::offload_part(*all.tiers, tiers));
  }
  Operations* operations = nullptr;
  if (all.setup.may_change) {
    parts.push_back(faults_part(all, operations));
  }
  for (std::size_t kind = 0; kind < 2; ++kind) {
    if (all.scalers[kind] != nullptr) {
      parts.push_back(scaling_part(all, kind, operations));
    }
  }
  Cluster cluster(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = path,
                    .id = {},
                    .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                    .jump = jump,
                    .may_slow_down = all.setup.may_change},
       .num_instances = all.instances(),
       .router = all.setup.prefill_router({}),
       .times = all.times,
       .seed = 7,
       .eager = eager,
       .threads = all.threads,
       .parts = std::move(parts),
       .ranks_in_lock_step = all.ranks});
  run_to_the_end(cluster, all.requests, all.aborts);
  HandedOver outcome{.ended = ended(sink, cluster.totals().steps), .transfers = (*part)->totals()};
  for (const ScalingPart* const scaling : cluster.parts<ScalingPart>()) {
    outcome.scale_events += static_cast<std::int64_t>(scaling->events().size());
  }
  if (*tiers != nullptr) {
    outcome.tiers = (*tiers)->totals();
  }
  if (operations != nullptr) {
    outcome.retries = operations->totals().retries;
    outcome.wasted = operations->totals().wasted_tokens;
    outcome.updates = operations->totals().updates;
  }
  return outcome;
}

/// Each request ends once; settled lazily or eagerly, with jumps or without, all is the same.
HandedOver check_twins(RandomHandOvers all) {
  const HandedOver reference = run(all, true, false);
  RC_ASSERT(reference.ended.requests.size() == all.requests.size());
  for (const bool jump : {true, false}) {
    all.threads = jump ? 2 : 1;
    const HandedOver lazy = run(all, false, jump);
    RC_LOG() << all.options.profile.name << ", " << all.ranks << " ranks, "
             << (all.options.async_scheduling ? "asynchronous" : "synchronous")
             << (all.tiers ? ", tiers" : "") << (jump ? ", jumps" : "") << '\n';
    RC_ASSERT(lazy.ended == reference.ended);
    RC_ASSERT(lazy.transfers == reference.transfers);
    RC_ASSERT(lazy.retries == reference.retries);
    RC_ASSERT(lazy.wasted == reference.wasted);
    RC_ASSERT(lazy.scale_events == reference.scale_events);
    RC_ASSERT(lazy.updates == reference.updates);
    RC_ASSERT(lazy.tiers == reference.tiers);
  }
  RC_CLASSIFY(reference.tiers.hits > core::Tokens(0) && reference.transfers.count > 0,
              "loaded from tiers");
  return reference;
}

RC_GTEST_PROP(HandOvers, SettledLazilyGiveWhatTheReferenceGives, ()) {
  const auto ranks = *rc::gen::element<std::int64_t>(1, 1, 2);
  const HandedOver reference = check_twins(random_hand_overs(ranks));
  RC_CLASSIFY(ranks > 1 && reference.transfers.count > 0, "sent between ranks in lock-step");
  RC_CLASSIFY(ranks > 1 && reference.tiers.hits > core::Tokens(0), "loaded from tiers by ranks");
}

RC_GTEST_PROP(HandOvers, OfTensorRtSettledLazilyGiveWhatTheReferenceGives, ()) {
  const auto ranks = *rc::gen::element<std::int64_t>(1, 1, 2);
  const HandedOver reference = check_twins(random_hand_overs_of_tensorrt(ranks));
  RC_CLASSIFY(reference.transfers.count > 0, "sent");
}

RC_GTEST_PROP(HandOvers, OfSglangSettledLazilyGiveWhatTheReferenceGives, ()) {
  const auto ranks = *rc::gen::element<std::int64_t>(1, 1, 2);
  const HandedOver reference = check_twins(random_hand_overs_of_sglang(ranks));
  RC_CLASSIFY(reference.transfers.count > 0, "sent");
}

RC_GTEST_PROP(HandOvers, WithFaultsSettledLazilyGiveWhatTheReferenceGives, ()) {
  RandomHandOvers all =
      *rc::gen::element(false, false, true) ? random_hand_overs_of_sglang(1) : random_hand_overs();
  add_faults(all);
  const HandedOver reference = check_twins(all);
  const TransferTotals& totals = reference.transfers;
  RC_ASSERT(totals.failed_by_crash <= totals.failed);
  RC_ASSERT(totals.recomputed <= totals.failed);
  RC_CLASSIFY(totals.failed_by_crash > 0, "lost with a prefill instance");
  RC_CLASSIFY(totals.decode_lost > 0, "lost with a decode instance");
  RC_CLASSIFY(std::ranges::any_of(all.faults,
                                  [](const faults::ListedFault& one) {
                                    return faults::is_of_link(one.fault.kind);
                                  }) &&
                  totals.count > 0,
              "sent beside a link's fault");
  RC_CLASSIFY(reference.retries > 0, "retried");
}

RC_GTEST_PROP(HandOvers, WithScalingSettledLazilyGiveWhatTheReferenceGives, ()) {
  RandomHandOvers all = random_hand_overs();
  add_faults(all);
  if (*rc::gen::arbitrary<bool>()) {
    all.faults.clear();
    all.random.clear();
  }
  add_scaling(all);
  const HandedOver reference = check_twins(all);
  RC_CLASSIFY(reference.scale_events > 0, "scaled");
  RC_CLASSIFY(!reference.updates.empty() && reference.updates.back().over != core::SimTime::never(),
              "updated to the end");
  RC_CLASSIFY(reference.transfers.count > 0, "sent");
}

RC_GTEST_PROP(HandOvers, AFaultThatNeverComesChangesNothing, ()) {
  RandomHandOvers all = random_hand_overs();
  const HandedOver without = run(all, false, true);
  add_faults(all);
  all.random.clear();
  all.operations.retries.max_retries = 0;  // Loads that fail are not retried either.
  for (faults::ListedFault& fault : all.faults) {
    fault.fault.at = core::SimTime::at(core::Duration::seconds(9000));
  }
  const HandedOver with = run(all, false, true);
  RC_ASSERT(with.ended == without.ended);
  RC_ASSERT(with.transfers == without.transfers);
}

}  // namespace
}  // namespace ridgeline::cluster

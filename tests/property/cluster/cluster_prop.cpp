#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cluster/admission/registry.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/admission_part.hpp"
#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "cluster/pools.hpp"
#include "cluster/request_story.hpp"
#include "cluster/step_time_predictor.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "random_cluster.hpp"
#include "routing/by_group.hpp"
#include "routing/predictor.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;
using test::ended;
using test::Ended;
using test::from_1_to_microseconds;
using test::random_costs;
using test::random_engine;
using test::random_requests;
using test::random_times;
using test::up_to_microseconds;

/// Instances of one kind, in a cluster of several.
struct RandomPool {
  std::int64_t instances = 1;
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
  double weight = 1.0;
  double spread = 0.0;
};

/// A small cluster in corners that a real one seldom sees, and its requests.
struct RandomCluster {
  engine::EngineOptions options;
  engine::RequestPath path;
  test::LinearModel::Costs costs;
  std::int64_t ranks = 1;  ///< Ranks of each group in lock-step.
  std::int64_t instances = 1;
  std::vector<RandomPool>
      pools;  ///< Where not all instances are alike; request i mod 5 says which.
  const routing::RouterEntry* router = nullptr;
  GatewayTimes times;
  std::optional<admission::Settings>
      admission;  ///< A gateway that refuses requests, or holds them.
  domain::LabelSets label_sets;
  std::int64_t gateways = 1;
  std::vector<domain::Request> requests;
  std::vector<routing::LatencyTargets> targets = {{}};  ///< In turn.
  bool closed_loop = false;
  std::int64_t threads = 1;
};

/// Tight enough that requests wait, expire and are refused.
admission::Settings random_admission() {
  admission::Settings settings;
  const char* const names[] = {
      "always", "priority", "probabilistic", "token-bucket", "latency-slo"};
  settings.policy = names[*rc::gen::inRange(0, 5)];
  const auto detectors = admission::detectors();
  settings.saturation_detector =
      detectors[*rc::gen::inRange<std::size_t>(0, detectors.size())].name;
  const auto fairness = admission::fairness_policies();
  settings.fairness_policy = fairness[*rc::gen::inRange<std::size_t>(0, fairness.size())].name;
  const auto orders = admission::dispatch_orders();
  settings.dispatch_order = orders[*rc::gen::inRange<std::size_t>(0, orders.size())];
  settings.flow_control = *rc::gen::arbitrary<bool>();
  settings.eviction = *rc::gen::arbitrary<bool>();
  settings.queue_depth_threshold = *rc::gen::inRange(1, 4);
  settings.metrics_staleness_threshold = up_to_microseconds(5000);
  settings.max_concurrency = *rc::gen::inRange(1, 5);
  settings.token_bucket_capacity = *rc::gen::inRange(300, 2'000);
  settings.token_bucket_refill_rate = *rc::gen::inRange(1'000, 1'000'000);
  settings.min_ceiling = *rc::gen::inRange(0, 101) / 100.0;
  settings.request_ttl = from_1_to_microseconds(50'000);
  settings.expiry_interval = from_1_to_microseconds(3000);
  settings.dispatch_tick_interval = from_1_to_microseconds(1500);
  settings.per_band_requests = *rc::gen::inRange(1, 20);
  return settings;
}

/// Two pools that differ in everything that may differ.
std::vector<RandomPool> random_pools(const RandomCluster& all) {
  std::vector<RandomPool> pools;
  for (int i = 0; i < 2; ++i) {
    RandomPool& pool = pools.emplace_back();
    pool.instances = *rc::gen::inRange<std::int64_t>(1, 4);
    pool.options = all.options;
    pool.options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
    pool.options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(34, 80));
    pool.options.async_scheduling = *rc::gen::arbitrary<bool>();
    pool.costs = all.costs;
    pool.costs.step = core::Duration::microseconds(200) + up_to_microseconds(2000);
    pool.weight = *rc::gen::inRange(1, 4);
    pool.spread = *rc::gen::element(0.0, 0.2);
  }
  return pools;
}

/// Requests for the first pool, for the second, for both, and for neither.
PoolGroups groups_of(const RandomCluster& all) {
  if (all.pools.empty()) {
    return {};
  }
  return {.members = {{true, false}, {false, true}, {true, true}},
          .of = [](const domain::Request& request) -> std::optional<std::uint32_t> {
            constexpr std::uint32_t kKinds = 5;
            const std::uint32_t kind = request.id.value() % kKinds;
            return kind == 3 ? std::nullopt : std::optional(std::min(kind, 2U));
          }};
}

RandomCluster random_cluster() {
  RandomCluster all;
  all.options = random_engine();
  all.costs = random_costs();
  all.path.frontend = up_to_microseconds(30);
  all.ranks = *rc::gen::element<std::int64_t>(1, 1, 2, 3);
  all.instances = all.ranks * *rc::gen::inRange<std::int64_t>(1, all.ranks > 1 ? 3 : 6);
  if (all.ranks == 1 && *rc::gen::arbitrary<bool>()) {
    all.pools = random_pools(all);
    all.instances = all.pools.front().instances + all.pools.back().instances;
  }
  const auto routers = routing::routers();
  all.router = &routers[*rc::gen::inRange<std::size_t>(0, routers.size())];
  all.times = random_times();
  all.gateways = *rc::gen::inRange<std::int64_t>(1, 4);
  all.closed_loop = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    all.admission = random_admission();
  }
  all.requests = random_requests(60, 1500);
  all.targets = {{}, {.ttft_ms = 2.0, .tpot_ms = 1.0}, {.ttft_ms = 10.0}, {.tpot_ms = 1.0}};
  for (domain::Request& request : all.requests) {
    request.priority = *rc::gen::inRange(-1, 2);
    domain::LabelSet labels;
    labels.of(domain::Label::kTenant) = *rc::gen::inRange(-1, 3);
    request.label_set = all.label_sets.number_of(labels);
  }
  return all;
}

class ToldStories final : public StorySink {
 public:
  void on_story(const RequestStory& story) override { stories.push_back(story); }
  std::vector<RequestStory> stories;
};

struct Outcome {
  Ended ended;
  std::int64_t dummy_steps = 0;
  std::vector<RequestStory> stories;  ///< In the order of their ids.
  std::int64_t ties = 0;
  std::optional<double> regret;  ///< Regret of an audit.
  admission::Totals admission;
};

/// Three tenants, the last of which is not listed.
domain::Tenants tenants_of(const RandomCluster& all) {
  return {{{.name = "0", .share = 2.0, .ttft = core::Duration::milliseconds(20)},
           {.name = "1", .priority = -1, .requests_per_minute = 15}},
          &all.label_sets,
          [](std::int32_t label) { return std::to_string(label); }};
}

Gateway::Routers routers_of(const RandomCluster& all,
                            std::int64_t count,
                            const std::shared_ptr<const routing::LatencyPredictor>& predictor) {
  Gateway::Routers routers;
  for (std::int64_t gateway = 0; gateway < count; ++gateway) {
    const auto make = [&] {
      return all.router->make(
          {.gateways = all.gateways, .gateway = gateway, .predictor = predictor});
    };
    routers.push_back(
        all.pools.empty() ? make() : routing::make_by_group(groups_of(all).members.size(), make));
  }
  return routers;
}

/// A request was served by a pool of its group, or by none.
void check_pools_kept(const RandomCluster& all, const std::vector<domain::RequestRecord>& records) {
  const PoolGroups groups = groups_of(all);
  for (const domain::RequestRecord& record : records) {
    const auto group = groups.of(all.requests[record.id.value()]);
    RC_ASSERT((record.outcome == domain::Outcome::kNoSuchModel) == !group);
    if (record.instance.valid()) {
      const std::size_t pool = record.instance.value() < all.pools.front().instances ? 0 : 1;
      RC_ASSERT(groups.members[*group][pool]);
    }
  }
}

/// Each request has one story, whose parts follow each other and sum to its TTFT.
void check_stories(const std::vector<domain::RequestRecord>& records,
                   const std::vector<RequestStory>& stories) {
  RC_ASSERT(stories.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const domain::RequestRecord& record = records[i];
    const RequestStory& story = stories[i];
    RC_ASSERT(story.id == record.id);
    // One that was evicted on its way was sent and is nowhere.
    const bool may_be_sent = record.outcome == domain::Outcome::kAborted;
    RC_ASSERT(story.attempts.size() == (record.instance.valid() ? 1U : 0U) ||
              (may_be_sent && story.attempts.size() == 1));
    RC_ASSERT(story.ttft.has_value() == (record.first_token != core::SimTime::never()));
    if (story.ttft) {
      const Attempt& attempt = story.attempts.front();
      RC_ASSERT(story.ttft->sum() == record.first_token - record.arrival);
      RC_ASSERT(story.ttft->gateway >= record.gateway_wait);
      RC_ASSERT(attempt.instance == record.instance);
      RC_ASSERT(record.arrival <= attempt.sent && attempt.sent <= attempt.delivered);
      RC_ASSERT(attempt.tokens == record.output_tokens);
    }
  }
}

/// Sends each request at its time, or, in a closed loop, when the one two before it has ended.
Outcome run(const RandomCluster& all, bool eager, bool jump, bool audit = false) {
  test::RecordingSink sink;
  ToldStories told;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  domain::Tenants tenants = tenants_of(all);
  AdmissionPart* admission = nullptr;
  std::vector<PartMaker> parts;
  if (all.admission) {
    parts.push_back({.kind = PartKind::kAdmission, .make = [&](Fleet& fleet) {
                       auto part =
                           std::make_unique<AdmissionPart>(fleet, *all.admission, tenants, 3);
                       admission = part.get();
                       return part;
                     }});
  }
  std::deque<test::LinearModel> models;
  std::vector<InstancePool> pools;
  for (const RandomPool& pool : all.pools) {
    pools.push_back({.instances = pool.instances,
                     .options = &pool.options,
                     .model = &models.emplace_back(pool.costs),
                     .host = &host,
                     .weight = pool.weight,
                     .spread = pool.spread});
  }
  const test::LinearModel predicted(all.costs);
  std::vector<InstancePool> alike = pools;
  if (alike.empty()) {
    alike.push_back(
        {.instances = all.instances, .options = &all.options, .model = &predicted, .host = &host});
  }
  const auto predictor = std::make_shared<const StepTimePredictor>(
      std::move(alike), PredictorError{.bias = 0.1, .sd = 0.3}, 5);
  Gateway::Routers routers = routers_of(all, all.gateways, predictor);
  std::unique_ptr<routing::Router> first = std::move(routers.front());
  routers.erase(routers.begin());
  Cluster cluster(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = all.path,
                    .id = {},
                    .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                    .jump = jump},
       .num_instances = all.instances,
       .router = std::move(first),
       .times = all.times,
       .more_routers = std::move(routers),
       .split = GatewaySplit::kSession,
       .audit = audit ? routers_of(all, all.gateways, predictor) : Gateway::Routers(),
       .targets_of =
           [&](const domain::Request& request) {
             return all.targets[request.id.value() % all.targets.size()];
           },
       .stories = &told,
       .seed = 7,
       .eager = eager,
       .arrivals_are_known = !all.closed_loop,
       .threads = all.threads,
       .parts = std::move(parts),
       .ranks_in_lock_step = all.ranks,
       .pools = std::move(pools),
       .groups = groups_of(all)});
  constexpr std::int64_t kSegments = 50;
  constexpr std::size_t kClients = 3;
  constexpr std::size_t kSentAhead = 7;
  std::size_t sent = 0;
  bool wants_more = true;
  while (true) {
    core::SimTime limit = core::SimTime::never();
    if (!all.closed_loop) {
      // Some ahead of time, as a driver sends them.
      const std::size_t most = wants_more ? sent + kSentAhead : sent;
      for (; sent < std::min(all.requests.size(), most); ++sent) {
        cluster.submit(all.requests[sent]);
      }
      limit = sent < all.requests.size() ? all.requests[sent].arrival : limit;
    }
    for (; all.closed_loop && sent < all.requests.size() && sent < sink.requests.size() + kClients;
         ++sent) {
      domain::Request request = all.requests[sent];
      request.arrival = cluster.now();
      cluster.submit(request);
    }
    const Pause pause = cluster.advance(limit, all.closed_loop, kSegments);
    RC_ASSERT(pause != Pause::kHorizon);
    if (pause == Pause::kIdle && sent == all.requests.size()) {
      break;
    }
    wants_more = pause != Pause::kBudget;
  }
  Outcome outcome{.ended = ended(sink, cluster.totals().steps),
                  .stories = told.stories,
                  .ties = cluster.routing().ties,
                  .regret = cluster.regret(),
                  .admission = admission == nullptr ? admission::Totals() : admission->totals()};
  for (const auto& instance : cluster.instances()) {
    const auto rank = cluster.rank_steps_of(instance->id());
    outcome.dummy_steps += rank ? rank->dummy_steps : 0;
    const engine::InstanceState state = instance->state(instance->now());
    RC_ASSERT(state.used_blocks == core::Blocks(0));
  }
  std::ranges::sort(outcome.stories, {}, &RequestStory::id);
  check_stories(outcome.ended.requests, outcome.stories);
  const auto& rejected = outcome.admission.rejected;
  const std::int64_t refused = std::accumulate(rejected.begin(), rejected.end(), std::int64_t{0});
  const auto unserved = std::ranges::count(
      sink.requests, domain::Outcome::kNoSuchModel, &domain::RequestRecord::outcome);
  RC_ASSERT(cluster.routing().decisions + refused + unserved ==
            static_cast<std::int64_t>(all.requests.size()));
  if (!all.pools.empty()) {
    check_pools_kept(all, sink.requests);
  }
  RC_ASSERT(!admission || outcome.admission.admitted == cluster.routing().decisions);
  return outcome;
}

RC_GTEST_PROP(Clusters, SettledLazilyGiveWhatTheReferenceGives, ()) {
  RandomCluster all = random_cluster();
  const Outcome reference = run(all, true, false);
  RC_ASSERT(reference.ended.requests.size() == all.requests.size());
  for (const bool jump : {true, false}) {
    all.threads = jump ? 2 : 1;
    const Outcome lazy = run(all, false, jump);
    RC_ASSERT(lazy.ended == reference.ended);
    RC_ASSERT(lazy.stories == reference.stories);
    RC_ASSERT(run(all, false, jump, true).ended.requests == reference.ended.requests);
    RC_ASSERT(lazy.dummy_steps == reference.dummy_steps);
    RC_ASSERT(lazy.ties == reference.ties);
    RC_ASSERT(lazy.admission.rejected == reference.admission.rejected);
    RC_ASSERT(lazy.admission.evicted == reference.admission.evicted);
  }
}

/// One instance leaves nothing to choose: every policy gives the run of the first.
RC_GTEST_PROP(Clusters, OfOneInstanceAreEqualUnderEveryPolicy, ()) {
  RandomCluster all = random_cluster();
  all.ranks = all.instances = 1;
  all.pools.clear();
  if (all.admission && all.admission->policy == "latency-slo") {
    all.admission->policy = "always";  // It goes by what one policy predicts and others do not.
  }
  const Outcome first = run(all, false, true);
  for (const routing::RouterEntry& router : routing::routers()) {
    all.router = &router;
    RC_ASSERT(run(all, false, true).ended.requests == first.ended.requests);
  }
}

/// What is known at once is what is true: counting requests sent and ended is knowing the queues.
RC_GTEST_PROP(Clusters, WithoutDelaysTheFewestRequestsAreThoseOfTheOracle, ()) {
  RandomCluster all = random_cluster();
  all.ranks = 1;
  all.pools.clear();  // The fewest requests for its weight is another rule.
  all.gateways = 1;
  all.times.gateway_latency = {};
  all.times.notice_latency = {};
  all.router = *routing::find_router("least-request");
  const Outcome counted = run(all, false, true);
  all.router = *routing::find_router("jsq-oracle");
  RC_ASSERT(run(all, false, true).ended == counted.ended);
}

/// Four instances, busy for most of the time, whose gauges are read so often.
RandomCluster busy_cluster(std::uint64_t seed, core::Duration refresh_interval) {
  RandomCluster all;
  all.options.max_num_seqs = 4;
  all.options.max_num_batched_tokens = core::Tokens(512);
  all.options.max_model_len = core::Tokens(512);
  all.options.num_gpu_blocks = core::Blocks(80);
  all.instances = 4;
  all.router = *routing::find_router("llm-d");
  all.times.refresh_interval = refresh_interval;
  core::RngStream rng(seed, 0, "busy cluster");
  core::SimTime now;
  for (std::uint32_t id = 0; id < 300; ++id) {
    now += core::Duration::microseconds(static_cast<std::int64_t>(rng.below(3200)));
    domain::Request request;
    request.id = core::RequestId(id);
    request.arrival = now;
    request.prompt_tokens = core::Tokens(1 + static_cast<std::int64_t>(rng.below(200)));
    request.output_tokens = core::Tokens(1 + static_cast<std::int64_t>(rng.below(40)));
    request.max_tokens = request.output_tokens;
    all.requests.push_back(request);
  }
  return all;
}

/// In the mean over seeds, old gauges let a policy decide otherwise than fresh ones at least as
/// often as younger gauges do.
TEST(ClustersInTheMean, OlderGaugesLeadToNoLessRegret) {
  constexpr std::uint64_t kSeeds = 20;
  double before = 0.0;
  for (const std::int64_t milliseconds : {1, 4, 16, 64}) {
    double regret = 0.0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto all = busy_cluster(seed, core::Duration::milliseconds(milliseconds));
      regret += run(all, false, true, true).regret.value_or(0.0) / static_cast<double>(kSeeds);
    }
    EXPECT_GE(regret, before) << milliseconds;
    EXPECT_GT(regret, 0.0);
    before = regret;
  }
}

}  // namespace
}  // namespace ridgeline::cluster

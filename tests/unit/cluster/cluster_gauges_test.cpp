// What idle time costs, in rounds of a cluster's loop and segments of its instances, under every
// policy that there is; and outages in which nothing happens for days.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/registry.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/admission_part.hpp"
#include "cluster/cluster.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling_part.hpp"
#include "cluster/step_time_predictor.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "routing/registry.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using core::Duration;
using faults::FaultKind;

constexpr std::int64_t kInstances = 3;
constexpr std::uint32_t kAtOnce = 12;
/// More rounds than any of these runs has that does not look at the clock.
constexpr std::int64_t kMost = 20'000;

core::SimTime seconds(std::int64_t count) {
  return core::SimTime::at(Duration::seconds(count));
}

/// Three instances of two seats whose steps take a second, where each of the policies may be any.
struct Idle {
  std::string router = "least-request";
  std::optional<admission::Settings> admission = {};
  const scaling::ScalerEntry* scaler = nullptr;
  std::int64_t fewest = 1;
  std::vector<faults::ListedFault> faults = {};
  std::vector<domain::Request> requests = {};
};

std::vector<domain::Request> bursts(const std::vector<std::int64_t>& at_s) {
  std::vector<domain::Request> requests;
  for (const std::int64_t when : at_s) {
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      domain::Request& one = requests.emplace_back();
      one.id = core::RequestId(static_cast<std::uint32_t>(requests.size() - 1));
      one.arrival = seconds(when);
      one.prompt_tokens = core::Tokens(32);
      one.output_tokens = core::Tokens(8);
      one.max_tokens = one.output_tokens;
      one.session = core::SessionId(i);
    }
  }
  return requests;
}

struct Ran {
  std::vector<domain::RequestRecord> requests;
  std::int64_t rounds = 0;
  std::int64_t scale_events = 0;
};

ScalingInputs scaling_of(const Idle& idle) {
  scaling::ScalerSettings settings;
  settings.scaling_interval = idle.scaler->interval;
  settings.target = 2.0;
  settings.replicas_at = {{seconds(10), 2}, {seconds(20), 3}};
  return {.scaler = idle.scaler->make(settings),
          .pools = {{.min_replicas = idle.fewest,
                     .max_replicas = kInstances,
                     .kv_capacity = core::Tokens(1024),
                     .context = core::Tokens(512)}}};
}

Ran run(const Idle& idle, bool eager = false) {
  test::RecordingSink sink;
  const test::LinearModel model({.step = Duration::seconds(1), .per_token = Duration()});
  const engine::HostTime host;
  const engine::RequestPath path;
  engine::EngineOptions options;
  options.max_num_seqs = 2;
  options.num_gpu_blocks = core::Blocks(65);
  domain::Tenants tenants;
  const auto new_router = [&] {
    return (*routing::find_router(idle.router))
        ->make({.predictor = std::make_shared<const StepTimePredictor>(
                    std::vector<InstancePool>{{.instances = kInstances,
                                               .options = &options,
                                               .model = &model,
                                               .host = &host}},
                    PredictorError{},
                    1)});
  };
  ClusterInputs inputs{
      .instance = {.engine = {.options = options, .model = model, .host = host, .sink = sink},
                   .path = path,
                   .id = {},
                   .may_slow_down = true},
      .num_instances = kInstances,
      .router = new_router(),
      .times = {},
      .eager = eager};
  Operations* operations = nullptr;
  if (idle.scaler != nullptr || !idle.faults.empty()) {
    inputs.parts.push_back(
        {.kind = PartKind::kFaults, .make = [&](Fleet& fleet) {
           auto part = std::make_unique<Operations>(
               fleet,
               OperationsInputs{.initial_instances = kInstances,
                                .faults = faults::FaultPlan(idle.faults, {}, kInstances, 1)});
           operations = part.get();
           return part;
         }});
  }
  if (idle.admission) {
    inputs.parts.push_back({.kind = PartKind::kAdmission, .make = [&](Fleet& fleet) {
                              return std::make_unique<AdmissionPart>(
                                  fleet, *idle.admission, tenants, 1);
                            }});
  }
  if (idle.scaler != nullptr) {
    inputs.parts.push_back({.kind = PartKind::kScaling, .make = [&](Fleet& fleet) {
                              return std::make_unique<ScalingPart>(
                                  fleet, *operations, scaling_of(idle));
                            }});
  }
  Cluster cluster(std::move(inputs));
  for (const domain::Request& request : idle.requests) {
    cluster.submit(request);
  }
  Ran ran;
  const std::int64_t most = eager ? 1'000'000 : 1;
  while (cluster.advance(core::SimTime::never(), false, most) != engine::Pause::kIdle &&
         ran.rounds < kMost) {
    ++ran.rounds;
  }
  std::ranges::sort(sink.requests, {}, &domain::RequestRecord::id);
  ran.requests = sink.requests;
  for (const auto* const scaling : cluster.parts<ScalingPart>()) {
    ran.scale_events += static_cast<std::int64_t>(scaling->events().size());
  }
  return ran;
}

/// A thousand idle seconds and a million cost the same but for a few instants of the clocks: where
/// between two of them a burst falls makes a difference.
void expect_no_cost(Idle idle, std::string_view what) {
  constexpr std::int64_t kFew = 8;
  idle.requests = bursts({0, 1'000, 2'000});
  const Ran brief = run(idle);
  idle.requests = bursts({0, 1'000, 1'001'000});
  const Ran lasting = run(idle);
  EXPECT_EQ(brief.requests.size(), idle.requests.size()) << what;
  EXPECT_EQ(lasting.requests.size(), idle.requests.size()) << what;
  EXPECT_LT(brief.rounds, kMost) << what;
  EXPECT_LE(lasting.rounds, brief.rounds + kFew) << what;
}

std::vector<std::optional<admission::Settings>> gateways() {
  std::vector<std::optional<admission::Settings>> all = {std::nullopt};
  for (const auto& detector : admission::detectors()) {
    admission::Settings& settings = all.emplace_back().emplace();
    settings.flow_control = true;
    settings.saturation_detector = detector.name;
    settings.max_concurrency = 2.0;
    settings.queue_depth_threshold = 1.0;
  }
  return all;
}

TEST(IdleTime, CostsNothingUnderAnyRouter) {
  for (const routing::RouterEntry& router : routing::routers()) {
    for (const auto& admission : gateways()) {
      expect_no_cost({.router = std::string(router.name), .admission = admission}, router.name);
    }
  }
}

TEST(IdleTime, CostsNothingUnderAnyAutoscaler) {
  for (const scaling::ScalerEntry& scaler : scaling::scalers()) {
    const bool may_sleep = scaler.name == "keda" || scaler.name == "wva";
    for (const std::int64_t fewest : {std::int64_t{may_sleep ? 0 : 1}, kInstances}) {
      for (const auto& admission : gateways()) {
        expect_no_cost(
            {.router = "llm-d", .admission = admission, .scaler = &scaler, .fewest = fewest},
            scaler.name);
      }
    }
  }
}

/// The intervals of autoscalers are seconds: an hour of bursts, as the reference has it, which asks
/// at every instant.
TEST(IdleTime, ThatIsLeftOutChangesNoDecisionOfAnAutoscaler) {
  for (const scaling::ScalerEntry& scaler : scaling::scalers()) {
    const bool may_sleep = scaler.name == "keda" || scaler.name == "wva";
    for (const std::int64_t fewest : {std::int64_t{may_sleep ? 0 : 1}, std::int64_t{2}}) {
      const Idle idle{
          .router = "least-request",
          .scaler = &scaler,
          .fewest = fewest,
          .faults = {{.fault = {.kind = FaultKind::kCrash,
                                .at = seconds(1'234),
                                .instance = core::InstanceId(0),
                                .lasts = Duration::seconds(400)}}},
          .requests = bursts({0, 7, 95, 400, 720, 1'235, 1'236, 1'900, 2'555, 2'600, 3'333})};
      const Ran lazy = run(idle);
      const Ran eager = run(idle, true);
      EXPECT_EQ(lazy.requests, eager.requests) << scaler.name << fewest;
      EXPECT_EQ(lazy.scale_events, eager.scale_events) << scaler.name << fewest;
      EXPECT_GT(lazy.scale_events, 0) << scaler.name << fewest;
    }
  }
}

/// A fault of every instance, ten days from one second on.
std::vector<faults::ListedFault> ten_days_of(FaultKind kind) {
  std::vector<faults::ListedFault> all;
  for (std::uint32_t i = 0; i < kInstances; ++i) {
    all.push_back({.fault = {.kind = kind,
                             .at = seconds(1),
                             .instance = core::InstanceId(i),
                             .lasts = Duration::seconds(864'000)}});
  }
  return all;
}

TEST(Outages, OfDaysEndAsTheyShould) {
  for (const auto& admission : gateways()) {
    for (const FaultKind kind : {FaultKind::kCrash, FaultKind::kScrapeLoss}) {
      Idle idle{.router = "llm-d", .admission = admission, .faults = ten_days_of(kind)};
      if (idle.admission) {
        idle.admission->request_ttl = Duration::seconds(900'000);
      }
      idle.requests = bursts({10});
      const Ran ran = run(idle);
      EXPECT_LT(ran.rounds, kMost);
      ASSERT_EQ(ran.requests.size(), kAtOnce);
      const bool waits =
          kind == FaultKind::kCrash || (idle.admission && idle.admission->saturation_detector !=
                                                              std::string("concurrency-detector"));
      for (const domain::RequestRecord& record : ran.requests) {
        EXPECT_EQ(record.outcome, domain::Outcome::kFinished);
        EXPECT_EQ(record.queued > seconds(864'000), waits);
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::cluster

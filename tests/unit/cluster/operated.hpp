#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/gateway.hpp"
#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "cluster/scaling_part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {

using core::Duration;
using faults::Fault;
using faults::FaultKind;

inline core::SimTime in_ms(std::int64_t count) {
  return core::SimTime::at(Duration::milliseconds(count));
}

/// Steps of 1 ms whatever their batch, answers of 8 tokens, two seats per instance; instances start
/// in 7 ms: 1 pending, 4 loading, 2 warming.
class Operated : public testing::Test {
 protected:
  Operated() {
    options_.max_num_seqs = 2;
    options_.num_gpu_blocks = core::Blocks(65);
    options_.async_scheduling = false;
    inputs_.cold_start = {.schedule = {.mean = Duration::milliseconds(1)},
                          .pull = {},
                          .load = {.mean = Duration::milliseconds(4)},
                          .compile = {.mean = Duration::milliseconds(2)},
                          .capture = {},
                          .warm_up = {}};
    inputs_.new_routers = [] {
      Gateway::Routers one;
      one.push_back(new_router());
      return one;
    };
    inputs_.health_check = {.interval = Duration::milliseconds(10), .failures = 2};
  }

  static std::unique_ptr<routing::Router> new_router() {
    return (*routing::find_router("least-request"))->make({});
  }

  void strike(const Fault& fault) { listed_.push_back({.fault = fault}); }

  void build(std::int64_t places, std::int64_t initial) {
    inputs_.initial_instances = initial;
    inputs_.faults = faults::FaultPlan(listed_, random_, initial, 1);
    ClusterInputs inputs{
        .instance = {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
                     .path = path_,
                     .id = core::InstanceId(0),
                     .may_slow_down = true},
        .num_instances = places,
        .router = new_router(),
        .times = times_,
        .seed = 1,
        .eager = eager_};
    inputs.parts.push_back({.kind = PartKind::kFaults, .make = [&](Fleet& fleet) {
                              auto part = std::make_unique<Operations>(fleet, inputs_);
                              operations_ = part.get();
                              return part;
                            }});
    if (scaler_ != nullptr) {
      inputs.parts.push_back({.kind = PartKind::kScaling, .make = [&](Fleet& fleet) {
                                return std::make_unique<ScalingPart>(
                                    fleet,
                                    *operations_,
                                    ScalingInputs{.scaler = std::move(scaler_),
                                                  .pools = {{.min_replicas = fewest_,
                                                             .max_replicas = places,
                                                             .kv_capacity = core::Tokens(1024)}},
                                                  .metrics_interval = Duration::milliseconds(5)});
                              }});
    }
    cluster_ = std::make_unique<Cluster>(std::move(inputs));
  }

  void send(std::uint32_t id, std::int64_t when_ms) {
    domain::Request one;
    one.id = core::RequestId(id);
    one.arrival = in_ms(when_ms);
    one.prompt_tokens = core::Tokens(32);
    one.output_tokens = core::Tokens(8);
    one.max_tokens = one.output_tokens;
    cluster_->submit(one);
  }
  void run() { cluster_->advance(core::SimTime::never(), false, test::kNoBudget); }
  void run_to(std::int64_t when_ms) { cluster_->advance(in_ms(when_ms), false, test::kNoBudget); }

  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }
  [[nodiscard]] Lifecycle state(std::uint32_t id) const {
    return operations_->state(core::InstanceId(id));
  }

  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_ = test::LinearModel({.per_token = Duration()});
  OperationsInputs inputs_;
  std::vector<faults::ListedFault> listed_;
  std::vector<faults::RandomFaults> random_;
  std::unique_ptr<scaling::Scaler> scaler_;
  std::int64_t fewest_ = 1;
  GatewayTimes times_;
  bool eager_ = false;
  Operations* operations_ = nullptr;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace ridgeline::cluster

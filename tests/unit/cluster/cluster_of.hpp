#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "routing/router.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {

inline core::SimTime us(std::int64_t count) {
  return core::SimTime::at(core::Duration::microseconds(count));
}

inline domain::Request request(std::uint32_t id,
                               std::int64_t arrival_us,
                               std::int64_t prompt = 32) {
  domain::Request one;
  one.id = core::RequestId(id);
  one.arrival = us(arrival_us);
  one.prompt_tokens = core::Tokens(prompt);
  one.output_tokens = core::Tokens(8);
  one.max_tokens = one.output_tokens;
  return one;
}

/// Steps of 1,000 us whatever their batch, two seats, 10 us in the frontend.
class ClusterOf : public testing::Test {
 protected:
  ClusterOf() {
    path_.frontend = core::Duration::microseconds(10);
    options_.max_num_seqs = 2;
    options_.num_gpu_blocks = core::Blocks(65);
    options_.async_scheduling = false;
  }

  [[nodiscard]] engine::InstanceInputs instance(domain::RecordSink& sink) const {
    return {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink},
            .path = path_,
            .id = core::InstanceId(0)};
  }
  std::unique_ptr<Cluster> cluster(std::int64_t instances,
                                   std::unique_ptr<routing::Router> router,
                                   const GatewayTimes& times = {}) {
    return std::make_unique<Cluster>(ClusterInputs{.instance = instance(sink_),
                                                   .num_instances = instances,
                                                   .router = std::move(router),
                                                   .times = times});
  }
  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }

  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_ = test::LinearModel({.per_token = core::Duration()});
};

}  // namespace ridgeline::cluster

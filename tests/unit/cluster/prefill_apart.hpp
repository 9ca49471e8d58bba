#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/disaggregation.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/operations.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "support/disaggregated.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {

using core::Duration;
using core::SimTime;
using disaggregation::FirstToken;
using disaggregation::LegOrder;
using domain::Outcome;

inline SimTime micros(std::int64_t count) {
  return SimTime::at(Duration::microseconds(count));
}

inline domain::Request sent(std::uint32_t id,
                            std::int64_t arrival_us,
                            std::int64_t prompt = 32,
                            std::int64_t output = 3) {
  domain::Request one;
  one.id = core::RequestId(id);
  one.arrival = micros(arrival_us);
  one.prompt_tokens = core::Tokens(prompt);
  one.output_tokens = core::Tokens(output);
  one.max_tokens = one.output_tokens;
  return one;
}

/// Steps of 1,000 us and 10 us a token; a block of 16 tokens is 1,000 bytes; a megabyte per second:
/// a block takes 1,000 us. 100 us to an instance, 50 us back.
class PrefillApart : public testing::Test {
 protected:
  PrefillApart() {
    options_.max_num_seqs = 4;
    options_.max_num_batched_tokens = core::Tokens(512);
    options_.num_gpu_blocks = core::Blocks(65);
    options_.async_scheduling = false;
    options_.kv_transfer = true;
    options_.profile.reserve_full_prompt = true;
    transfer_ = {.topology = {.network_card = 1'000'000},
                 .bytes_per_block = 1'000,
                 .setup = Duration::microseconds(200),
                 .lease = Duration::seconds(30)};
  }

  /// One prefill and one decode instance.
  void run(const std::vector<domain::Request>& requests,
           const std::vector<test::Abort>& aborts = {}) {
    const GatewayTimes times{.gateway_latency = Duration::microseconds(100),
                             .notice_latency = Duration::microseconds(50)};
    std::vector<PartMaker> parts;
    parts.push_back(test::disaggregation_part({.prefill_instances = 1,
                                               .prefill_router = routing::maker_of("round-robin"),
                                               .times = times,
                                               .decider = disaggregation::make_always,
                                               .order = order_,
                                               .first_token = first_token_,
                                               .transfer = transfer_,
                                               .may_change = !faults_.empty()},
                                              part_));
    if (!faults_.empty()) {
      parts.push_back(
          {.kind = PartKind::kFaults, .make = [&](Fleet& fleet) {
             return std::make_unique<Operations>(
                 fleet,
                 OperationsInputs{.initial_instances = 2,
                                  .faults = faults::FaultPlan(faults_, {}, 2, 1),
                                  .retries = {.max_retries = retries_,
                                              .retry_backoff = Duration::microseconds(1'000)}});
           }});
    }
    Cluster cluster(
        {.instance =
             {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
              .path = path_,
              .id = {}},
         .num_instances = 2,
         .router = routing::maker_of("least-request")({}),
         .times = times,
         .parts = std::move(parts)});
    for (const domain::Request& one : requests) {
      cluster.submit(one);
    }
    for (const test::Abort& abort : aborts) {
      cluster.advance(abort.at, false, test::kNoBudget);
      cluster.abort(abort.id, abort.at);
    }
    EXPECT_EQ(cluster.advance(SimTime::never(), false, test::kNoBudget), engine::Pause::kIdle);
    totals_ = (*part_)->totals();
    if (const auto* const operations = cluster.part<Operations>(); operations != nullptr) {
      operations_ = operations->totals();
    }
    state_ = cluster.state(cluster.now());
  }
  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }

  /// Sum of all parts of the time to first token.
  [[nodiscard]] core::TimeSum parts() const {
    return totals_.gateway + totals_.prefill + totals_.hand_over + totals_.decode_wait +
           totals_.setup + totals_.transfer + totals_.first_step;
  }

  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_;
  TransferOptions transfer_;
  LegOrder order_ = LegOrder::kDecodeFirst;
  FirstToken first_token_ = FirstToken::kDecode;
  std::shared_ptr<Disaggregation*> part_ = std::make_shared<Disaggregation*>();
  /// The first instance computes prompts, the second one answers.
  void crash(std::uint32_t instance, std::int64_t at_us) {
    faults_ = {{.fault = {.kind = faults::FaultKind::kCrash,
                          .at = micros(at_us),
                          .instance = core::InstanceId(instance),
                          .lasts = Duration::microseconds(500)}}};
  }

  std::vector<faults::ListedFault> faults_;
  std::int64_t retries_ = 0;
  OperationsTotals operations_;
  TransferTotals totals_;
  engine::InstanceState state_;
};

}  // namespace ridgeline::cluster

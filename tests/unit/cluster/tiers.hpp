#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/kv_offload.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/store/policies/policies.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/offloaded.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {

using core::Duration;
using core::SimTime;

inline constexpr std::size_t kHost = 0;
inline constexpr std::size_t kDisk = 1;
inline constexpr std::size_t kSharedStore = 2;
inline constexpr core::Tokens kBlock{16};
inline constexpr std::int64_t kBlockBytes = 1'000;
inline constexpr Duration kOneTick = Duration::ticks(1);

inline SimTime instant_us(std::int64_t count) {
  return SimTime::at(Duration::microseconds(count));
}

/// Steps of 1,000 us and 10 us a token; a block of 16 tokens is 1,000 bytes, and a link moves a
/// block in 1,000 us. Four requests at a time, eight blocks on the GPU.
class Tiers : public testing::Test {
 protected:
  Tiers() {
    options_.max_num_seqs = 4;
    options_.max_num_batched_tokens = core::Tokens(512);
    options_.num_gpu_blocks = core::Blocks(9);
    options_.async_scheduling = false;
    options_.kv_transfer = options_.kv_connector = true;
    options_.profile.reserve_full_prompt = true;
    offload_.layouts[0].bytes_per_block = kBlockBytes;
    offload_.tiers[kHost] = tier(100);
  }

  static TierOptions tier(std::int64_t blocks, Duration latency = {}) {
    return {.bytes = blocks * kBlockBytes,
            .eviction = store::make_lru,
            .read_rate = 1'000'000,
            .write_rate = 1'000'000,
            .latency = latency};
  }

  void ask(std::int64_t arrival_us, std::uint64_t content, std::int64_t prompt) {
    domain::Request one;
    one.id = core::RequestId(static_cast<core::RequestId::Rep>(requests_.size()));
    one.arrival = instant_us(arrival_us);
    one.prompt_tokens = core::Tokens(prompt);
    one.output_tokens = one.max_tokens = core::Tokens(1);
    one.prompt = {{content, one.prompt_tokens}};
    requests_.push_back(one);
  }

  void run(std::int64_t instances = 1) {
    std::vector<PartMaker> parts;
    parts.push_back(test::offload_part(offload_, part_));
    if (!faults_.empty()) {
      parts.push_back(
          {.kind = PartKind::kFaults, .make = [&](Fleet& fleet) {
             return std::make_unique<Operations>(
                 fleet,
                 OperationsInputs{.initial_instances = instances,
                                  .faults = faults::FaultPlan(faults_, {}, instances, 1),
                                  .retries = {.max_retries = 1, .retry_backoff = Duration()}});
           }});
    }
    Cluster cluster(
        {.instance =
             {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
              .path = path_,
              .id = {}},
         .num_instances = instances,
         .router = routing::maker_of("round-robin")({}),
         .times = {},
         .parts = std::move(parts)});
    for (const domain::Request& one : requests_) {
      cluster.submit(one);
    }
    EXPECT_EQ(cluster.advance(SimTime::never(), false, test::kNoBudget), engine::Pause::kIdle);
    EXPECT_EQ(sink_.requests.size(), requests_.size());
    // What is still being written.
    static_cast<void>(
        cluster.advance(cluster.now() + Duration::seconds(1), false, test::kNoBudget));
    totals_ = (*part_)->totals();
    used_blocks_ = cluster.state(cluster.now()).used_blocks;
  }
  /// An instance dies, and serves again half a millisecond later.
  void crash(std::uint32_t instance, std::int64_t at_us) {
    faults_.push_back({.fault = {.kind = faults::FaultKind::kCrash,
                                 .at = instant_us(at_us),
                                 .instance = core::InstanceId(instance),
                                 .lasts = Duration::microseconds(500)}});
  }
  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }

  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_;
  OffloadOptions offload_;
  std::vector<domain::Request> requests_;
  std::shared_ptr<KvOffload*> part_ = std::make_shared<KvOffload*>();
  std::vector<faults::ListedFault> faults_;
  OffloadTotals totals_;
  core::Blocks used_blocks_;  ///< At the end.
};

}  // namespace ridgeline::cluster

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster_of.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/server.hpp"
#include "routing/registry.hpp"
#include "support/drive.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

/// What a run gave, and how many of its steps were taken together.
struct Looked {
  std::vector<domain::RequestRecord> requests;
  std::int64_t jumped_steps = 0;
};

class LooksOf : public ClusterOf {
 protected:
  /// Requests of two prompts under llm-d-precise, sent at once or each by itself.
  [[nodiscard]] Looked run(bool known, core::Duration delay, std::int64_t sent_ahead = 100) {
    test::RecordingSink sink;
    ClusterInputs inputs{.instance = instance(sink),
                         .num_instances = 3,
                         .router = routing::find_router("llm-d-precise")
                                       .value()
                                       ->make({.block_tokens = options_.block_size.value()}),
                         .times = {.kv_events_delay = delay},
                         .arrivals_are_known = known};
    Cluster fleet(std::move(inputs));
    constexpr std::uint32_t kRequests = 24;
    for (std::uint32_t id = 0; id < kRequests; ++id) {
      domain::Request one = request(id, 700 * id, 64);
      one.output_tokens = one.max_tokens = core::Tokens(40);
      if (id % 5 != 0) {
        one.prompt = {{id % 2, core::Tokens(48)}};
      }
      if (id > 0 && id % sent_ahead == 0) {
        EXPECT_NE(fleet.advance(one.arrival, false, test::kNoBudget), Pause::kBudget);
      }
      fleet.submit(one);
    }
    EXPECT_EQ(fleet.advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
    return {.requests = sink.requests, .jumped_steps = fleet.totals().jumped_steps};
  }
};

TEST_F(LooksOf, KnownRequestsFindWhatALookBackFinds) {
  for (const std::int64_t delay_us : {1, 500, 2'000, 50'000}) {
    const auto delay = core::Duration::microseconds(delay_us);
    const Looked back = run(false, delay);
    const Looked ahead = run(true, delay);
    EXPECT_EQ(ahead.requests, back.requests);
    EXPECT_EQ(run(true, delay, 5).requests, back.requests);
    // Without changes to keep, steps are taken together.
    EXPECT_EQ(back.jumped_steps, 0);
    EXPECT_GT(ahead.jumped_steps, 0);
  }
}

TEST_F(LooksOf, WhatIsKnownDependsOnTheDelay) {
  EXPECT_NE(run(true, core::Duration::microseconds(1)).requests,
            run(true, core::Duration::milliseconds(50)).requests);
}

}  // namespace
}  // namespace ridgeline::cluster

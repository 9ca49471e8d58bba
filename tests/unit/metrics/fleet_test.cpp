#include "metrics/fleet.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {
namespace {

core::SimTime at_ms(std::int64_t count) {
  return core::SimTime::at(core::Duration::milliseconds(count));
}

/// A request of two tokens, the first after `ttft_ms`, the second 10 ms later.
void serve(Fleet& fleet, core::InstanceId instance, std::int64_t ttft_ms, domain::Outcome outcome) {
  domain::RequestRecord record;
  record.instance = instance;
  record.outcome = outcome;
  record.prompt_tokens = core::Tokens(98);
  record.output_tokens = core::Tokens(2);
  record.first_scheduled = at_ms(0);
  record.first_token = at_ms(ttft_ms);
  record.last_token = at_ms(ttft_ms + 10);
  const auto first = core::Duration::milliseconds(ttft_ms);
  const auto last = core::Duration::milliseconds(ttft_ms + 10);
  const RequestLatency latency{.client_ttft = first,
                               .client_e2e = last,
                               .server_ttft = first,
                               .server_e2e = last,
                               .client_end = at_ms(ttft_ms + 10)};
  fleet.add(record, latency, measure(record, latency));
}

TEST(Fleet, TellsInstancesApart) {
  for (const Percentiles percentiles : {Percentiles::kExact, Percentiles::kSketch}) {
    Fleet fleet(2, percentiles);
    serve(fleet, core::InstanceId(1), 40, domain::Outcome::kFinished);
    serve(fleet, core::InstanceId(1), 40, domain::Outcome::kFinished);
    serve(fleet, core::InstanceId(0), 80, domain::Outcome::kFinished);
    serve(fleet, core::InstanceId(0), 80, domain::Outcome::kRejected);
    serve(fleet, {}, 80, domain::Outcome::kAborted);  // No instance got it.
    const auto summary = fleet.summarise();
    ASSERT_TRUE(summary.has_value());
    ASSERT_EQ(summary->instances.size(), 2);
    EXPECT_EQ(summary->instances[0].requests, 2);
    EXPECT_EQ(summary->instances[0].completed, 1);
    EXPECT_EQ(summary->instances[1].total_input_tokens, 196);
    EXPECT_EQ(summary->instances[1].total_output_tokens, 4);
    EXPECT_NEAR(summary->instances[0].ttft_ms->of(Statistic::kMean), 80.0, 0.1);
    EXPECT_NEAR(summary->instances[1].tpot_ms->of(Statistic::kMean), 10.0, 0.1);
    // Two requests each; 100 and 200 tokens: a mean of 150, 50 away.
    EXPECT_DOUBLE_EQ(*summary->request_variation, 0.0);
    EXPECT_DOUBLE_EQ(*summary->token_variation, 1.0 / 3.0);
  }
}

TEST(Fleet, OfNoInstancesSaysNothing) {
  const Fleet fleet(0, Percentiles::kExact);
  EXPECT_FALSE(fleet.any());
  EXPECT_FALSE(fleet.summarise().has_value());
}

}  // namespace
}  // namespace ridgeline::metrics

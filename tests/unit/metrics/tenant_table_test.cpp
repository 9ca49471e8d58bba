#include "metrics/tenant_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/tenants.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

/// Tenants "0" with a target of 50 ms of TTFT and a weight of 2, and "1" without a target.
class TenantTableOf : public ::testing::Test {
 protected:
  TenantTableOf()
      : tenants_(
            {{.name = "0", .share = 2.0, .ttft = core::Duration::milliseconds(50)}, {.name = "1"}},
            &sets_,
            [](std::int32_t label) { return std::to_string(label); }) {}

  /// A request of 98 and 2 tokens.
  void serve(TenantTable& table,
             std::int32_t tenant,
             std::int64_t ttft_ms,
             domain::Outcome outcome) {
    domain::LabelSet set;
    set.of(domain::Label::kTenant) = tenant;
    domain::RequestRecord record;
    record.label_set = sets_.number_of(set);
    record.outcome = outcome;
    record.prompt_tokens = core::Tokens(98);
    record.output_tokens = core::Tokens(2);
    const auto first = core::Duration::milliseconds(ttft_ms);
    record.first_scheduled = core::SimTime();
    record.first_token = core::SimTime::at(first);
    record.last_token = core::SimTime::at(first + first);
    record.gateway_wait = first;
    const RequestLatency latency{.client_ttft = first,
                                 .client_e2e = first + first,
                                 .server_ttft = first,
                                 .server_e2e = first + first,
                                 .client_end = record.last_token};
    table.add(record, latency, measure(record, latency), false);
  }

  domain::LabelSets sets_;
  domain::Tenants tenants_;
};

TEST_F(TenantTableOf, CountsEachTenantByItsOwnTargets) {
  for (const Percentiles percentiles : {Percentiles::kExact, Percentiles::kSketch}) {
    TenantTable table(&tenants_, percentiles);
    serve(table, 0, 40, domain::Outcome::kFinished);
    serve(table, 0, 60, domain::Outcome::kFinished);
    serve(table, 0, 0, domain::Outcome::kRejected);
    serve(table, 0, 0, domain::Outcome::kExpired);
    serve(table, 1, 10, domain::Outcome::kLengthCapped);
    serve(table, 1, 0, domain::Outcome::kUnfinished);
    const auto summaries = table.summarise(2.0, false);
    ASSERT_EQ(summaries.size(), 2);
    EXPECT_EQ(summaries[0].requests, 4);
    EXPECT_EQ(summaries[0].completed, 2);
    EXPECT_EQ(summaries[0].rejected, 1);
    EXPECT_EQ(summaries[0].expired, 1);
    EXPECT_DOUBLE_EQ(*summaries[0].goodput, 0.5);
    EXPECT_DOUBLE_EQ(*summaries[0].good_share, 0.25);
    EXPECT_DOUBLE_EQ(*summaries[0].share, 2.0 / 3.0);
    EXPECT_NEAR(summaries[0].gateway_wait_ms->of(Statistic::kMean), 50.0, 1e-9);
    EXPECT_NEAR(summaries[1].ttft_ms->of(Statistic::kP50), 10.0, 0.01);
    EXPECT_FALSE(summaries[1].goodput.has_value());
    // 200 tokens over 2 and 100 over 1 are alike.
    EXPECT_DOUBLE_EQ(*jain_index(summaries), 1.0);
  }
}

TEST_F(TenantTableOf, TheRunsTargetsHoldWhereATenantHasNone) {
  TenantTable table(&tenants_, Percentiles::kExact);
  serve(table, 1, 10, domain::Outcome::kFinished);
  const auto summaries = table.summarise(1.0, true);
  EXPECT_DOUBLE_EQ(*summaries[1].good_share, 0.0);
  EXPECT_FALSE(summaries[0].good_share.has_value());
}

TEST(JainIndex, IsTheShareOfTenantsThatAreServed) {
  std::vector<TenantSummary> tenants(4);
  EXPECT_FALSE(jain_index(tenants).has_value());
  tenants[2].total_input_tokens = 70;
  EXPECT_DOUBLE_EQ(*jain_index(tenants), 0.25);
  tenants[1].total_output_tokens = 70;
  EXPECT_DOUBLE_EQ(*jain_index(tenants), 0.5);
}

TEST(JainIndexOfDemand, IsOneWhereEachGetsItsFairPart) {
  std::vector<TenantSummary> tenants(2);
  EXPECT_FALSE(jain_index_of_demand(tenants).has_value());
  const auto serve = [&](std::size_t place, std::int64_t requests, std::int64_t completed) {
    tenants[place].requests = requests;
    tenants[place].completed = completed;
    tenants[place].total_input_tokens = 10 * completed;
  };
  // Nothing was refused: one asked for less.
  serve(0, 2, 2);
  serve(1, 20, 20);
  EXPECT_DOUBLE_EQ(*jain_index_of_demand(tenants), 1.0);
  // 140 tokens: the first could have had its 60, the other 80. They are at 20/60 and 120/80.
  serve(0, 6, 2);
  serve(1, 20, 12);
  const double parts = 1.0 / 3 + 1.5;
  EXPECT_NEAR(*jain_index_of_demand(tenants), parts * parts / (2 * (1.0 / 9 + 2.25)), 1e-12);
  // By a share of a ninth the first's fair part is 70/9, less than what it got.
  tenants[1].weight = 8.0;
  serve(1, 20, 5);
  const double low = 20.0 / (70.0 / 9);
  const double high = 50.0 / (560.0 / 9);
  EXPECT_NEAR(*jain_index_of_demand(tenants),
              (low + high) * (low + high) / (2 * (low * low + high * high)),
              1e-12);
}

}  // namespace
}  // namespace ridgeline::metrics

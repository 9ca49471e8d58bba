#include "metrics/latency_table.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

core::Duration table_ms(std::int64_t milliseconds) {
  return core::Duration::milliseconds(milliseconds);
}

void add_row(LatencyTable& table,
             std::int64_t queue,
             std::int64_t ttft,
             std::int64_t e2e,
             std::int64_t lead,
             std::int64_t tokens) {
  domain::RequestRecord record;
  record.output_tokens = core::Tokens(tokens);
  record.first_scheduled = record.queued + table_ms(queue);
  // The client waits `lead` longer for the first token, and a millisecond more for the end.
  table.add(record,
            {.client_ttft = table_ms(ttft),
             .client_e2e = table_ms(e2e),
             .server_ttft = table_ms(ttft - lead),
             .server_e2e = table_ms(e2e - lead - 1),
             .client_end = {}});
}

double mean_of(const std::optional<Distribution>& distribution) {
  return distribution->of(Statistic::kMean);
}

TEST(LatencyTable, BothClocksFollowFromOne) {
  LatencyTable table;
  add_row(table, 1, 10, 30, 2, 11);  // Ten gaps: 20 / 10 = 2 ms for the client, 19 / 10 = 1.9 ms.
  add_row(table, 3, 20, 60, 4, 1);   // A single token has no gap.
  add_row(table, 5, 30, 90, 4, 21);  // Twenty gaps: 60 / 20 = 3 ms, 59 / 20 = 2.95 ms.
  const auto [queue_time, client, server] = table.distributions_ms();
  EXPECT_DOUBLE_EQ(mean_of(queue_time), 3.0);
  EXPECT_DOUBLE_EQ(mean_of(client.ttft), 20.0);
  EXPECT_DOUBLE_EQ(mean_of(client.e2e), 60.0);
  EXPECT_DOUBLE_EQ(mean_of(client.tpot), 2.5);
  EXPECT_DOUBLE_EQ(mean_of(server.ttft), (8.0 + 16.0 + 26.0) / 3.0);
  EXPECT_DOUBLE_EQ(mean_of(server.e2e), (27.0 + 55.0 + 85.0) / 3.0);
  EXPECT_DOUBLE_EQ(mean_of(server.tpot), (1.9 + 2.95) / 2.0);
}

TEST(LatencyTable, ClocksThatDifferInTheFirstTokenAloneAgreeInTheRest) {
  LatencyTable table;
  domain::RequestRecord record;
  record.output_tokens = core::Tokens(11);
  table.add(record,
            {.client_ttft = table_ms(12),
             .client_e2e = table_ms(32),
             .server_ttft = table_ms(10),
             .server_e2e = table_ms(30),
             .client_end = {}});
  const auto [queue_time, client, server] = table.distributions_ms();
  EXPECT_DOUBLE_EQ(mean_of(client.tpot), 2.0);  // Ten gaps: 20 / 10 ms.
  EXPECT_DOUBLE_EQ(mean_of(server.tpot), 2.0);
  EXPECT_DOUBLE_EQ(mean_of(server.ttft), 10.0);
  EXPECT_DOUBLE_EQ(mean_of(server.e2e), 30.0);
}

TEST(LatencyTable, QuantilesOfBothClocks) {
  LatencyTable table;
  add_row(table, 1, 30, 90, 4, 21);  // As above: 60 / 20 = 3 ms for the client, 59 / 20 = 2.95 ms.
  add_row(table, 3, 10, 30, 4, 11);
  add_row(table, 5, 20, 60, 4, 1);
  const auto [queue_time, client, server] = table.distributions_ms();
  EXPECT_DOUBLE_EQ(queue_time->of(Statistic::kP90), 4.6);  // 0.8 of the way from 3 to 5.
  EXPECT_DOUBLE_EQ(client.ttft->of(Statistic::kP50), 20.0);
  EXPECT_DOUBLE_EQ(server.ttft->of(Statistic::kP50), 16.0);
  EXPECT_DOUBLE_EQ(server.ttft->of(Statistic::kMax), 26.0);
  EXPECT_DOUBLE_EQ(server.ttft->of(Statistic::kStd), client.ttft->of(Statistic::kStd));
  EXPECT_DOUBLE_EQ(mean_of(server.e2e), (85.0 + 25.0 + 55.0) / 3.0);
  EXPECT_DOUBLE_EQ(client.tpot->of(Statistic::kMax), 3.0);
  EXPECT_DOUBLE_EQ(server.tpot->of(Statistic::kMax), 2.95);
  EXPECT_DOUBLE_EQ(mean_of(server.tpot), (2.95 + 1.9) / 2.0);
}

TEST(LatencyTable, SingleTokensHaveNoTimePerToken) {
  LatencyTable table;
  add_row(table, 1, 10, 12, 2, 1);
  const auto [queue_time, client, server] = table.distributions_ms();
  EXPECT_DOUBLE_EQ(mean_of(server.e2e), 9.0);
  EXPECT_FALSE(client.tpot);
  EXPECT_FALSE(server.tpot);
}

/// More requests than are packed together, asked for on the way and at the end: as sorting has it.
TEST(LatencyTable, ManyRequestsAreInOrder) {
  for (const bool same_lead : {true, false}) {
    LatencyTable table;
    std::vector<std::int64_t> client;
    std::vector<std::int64_t> server;
    for (std::int64_t i = 0; i < 1001; ++i) {
      const std::int64_t ttft = 20 + i * 389 % 1009;
      const std::int64_t lead = same_lead ? 3 : 1 + i % 7;
      add_row(table, 1, ttft, ttft + 50, lead, 11);
      client.push_back(ttft);
      server.push_back(ttft - lead);
      if (i == 100) {
        std::sort(client.begin(), client.end());
        EXPECT_DOUBLE_EQ(table.distributions_ms().client.ttft->of(Statistic::kP50),
                         static_cast<double>(client[50]));
      }
    }
    std::sort(client.begin(), client.end());
    std::sort(server.begin(), server.end());
    const auto found = table.distributions_ms();
    // The median of 1001 values is the 501st, the 90th percentile the 901st.
    EXPECT_DOUBLE_EQ(found.client.ttft->of(Statistic::kP50), static_cast<double>(client[500]));
    EXPECT_DOUBLE_EQ(found.server.ttft->of(Statistic::kP50), static_cast<double>(server[500]));
    EXPECT_DOUBLE_EQ(found.server.ttft->of(Statistic::kP90), static_cast<double>(server[900]));
    EXPECT_DOUBLE_EQ(found.client.e2e->of(Statistic::kP90), static_cast<double>(client[900] + 50));
    EXPECT_DOUBLE_EQ(found.client.tpot->of(Statistic::kMax), 5.0);
    EXPECT_DOUBLE_EQ(found.server.tpot->of(Statistic::kP50), 4.9);
  }
}

/// Where all requests have as many gaps, the quantiles of the time per gap follow from those of the
/// time that all gaps take; where one has not, they are searched: as sorting has them, either way.
TEST(LatencyTable, QuantilesPerGap) {
  for (const bool one_length : {true, false}) {
    LatencyTable table;
    std::vector<double> per_gap;
    for (std::int64_t i = 0; i < 2001; ++i) {
      const std::int64_t tokens = !one_length && i == 1999 ? 3 : 11;
      const std::int64_t span = 100 + i * 389 % 2003;
      add_row(table, 1, 20 + i % 5, 20 + i % 5 + span, i % 9, tokens);
      per_gap.push_back(static_cast<double>(span) / static_cast<double>(tokens - 1));
    }
    std::sort(per_gap.begin(), per_gap.end());
    const auto found = table.distributions_ms();
    EXPECT_DOUBLE_EQ(found.client.tpot->of(Statistic::kP50), per_gap[1000]);
    EXPECT_DOUBLE_EQ(found.client.tpot->of(Statistic::kP95), per_gap[1900]);
    if (one_length) {  // The server's end comes a millisecond earlier, so each of ten gaps 0.1.
      EXPECT_NEAR(found.server.tpot->of(Statistic::kP50), per_gap[1000] - 0.1, 1e-9);
    }
  }
}

TEST(LatencyTable, NothingComesOfNothing) {
  const LatencyTable table;
  EXPECT_FALSE(table.distributions_ms().queue_time);
  EXPECT_FALSE(table.distributions_ms().client.tpot);
}

}  // namespace
}  // namespace ridgeline::metrics

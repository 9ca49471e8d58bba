#include "api/tables.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "ridgeline.h"

namespace ridgeline::api {
namespace {

using core::Duration;
using core::SimTime;

domain::RequestRecord record_at(std::int64_t ticks) {
  domain::RequestRecord record;
  record.id = core::RequestId(3);
  record.prompt_tokens = core::Tokens(100);
  record.output_tokens = core::Tokens(9);
  record.arrival = SimTime::at(Duration::ticks(ticks));
  record.queued = SimTime::at(Duration::ticks(ticks + 1));
  return record;
}

const rl_column& column(const Table& table, std::string_view name) {
  for (const rl_column& one : table.columns()) {
    if (name == one.name) {
      return one;
    }
  }
  ADD_FAILURE() << "no column " << name;
  return table.columns().front();
}

TEST(RequestTable, HoldsTicksAndMillisecondsAndSaysWhatIsAbsent) {
  RequestTable table;
  metrics::RequestMetrics metrics;
  metrics.ttft = Duration::ticks(12'345'678'901);
  metrics.e2e = Duration::ticks(20'000'000'000);
  table.add_request(record_at(7), metrics);
  table.add_request(record_at(9), {});
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(static_cast<const std::int64_t*>(column(table, "ttft_ps").data)[0], 12'345'678'901);
  EXPECT_EQ(static_cast<const double*>(column(table, "ttft_ms").data)[0], 12.345678901);
  EXPECT_EQ(static_cast<const std::int64_t*>(column(table, "client_end_ps").data)[0],
            20'000'000'007);
  EXPECT_EQ(static_cast<const std::int64_t*>(column(table, "first_token_ps").data)[0], -1);
  EXPECT_EQ(static_cast<const std::int64_t*>(column(table, "e2e_ps").data)[1], -1);
  EXPECT_TRUE(std::isnan(static_cast<const double*>(column(table, "e2e_ms").data)[1]));
  EXPECT_STREQ(column(table, "ttft_ms").unit, "ms");
  EXPECT_EQ(column(table, "outcome").num_words, domain::kNumOutcomes);
}

TEST(StepTable, HoldsARowForEachRecord) {
  StepTable table;
  domain::StepRecord record;
  record.steps = 5;
  record.num_decodes = 2;
  table.add_steps(record);
  EXPECT_EQ(table.rows(), 1);
  EXPECT_EQ(static_cast<const std::int64_t*>(column(table, "steps").data)[0], 5);
}

TEST(KeptTables, KeepsWhatIsAskedForOrNothing) {
  KeptTables tables({.requests = 2, .steps = false});
  tables.on_request(record_at(0), {});
  tables.on_request(record_at(1), {});
  EXPECT_EQ(tables.find("requests")->rows(), 2);
  EXPECT_EQ(tables.find("steps"), nullptr);
  EXPECT_EQ(tables.find("others"), nullptr);
  tables.on_request(record_at(2), {});
  EXPECT_EQ(tables.find("requests"), nullptr) << "more than were to be kept";
}

}  // namespace
}  // namespace ridgeline::api

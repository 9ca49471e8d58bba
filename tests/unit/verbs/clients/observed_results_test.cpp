#include "verbs/clients/observed_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/slo.hpp"
#include "observe/record.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

core::SimTime at_ms(std::int64_t ms) {
  return core::SimTime::at(core::Duration::milliseconds(ms));
}

observe::Row row_of(core::RequestId::Rep id, std::int64_t sent_ms) {
  observe::Row row{.request = {}, .due = at_ms(sent_ms)};
  row.request.id = core::RequestId(id);
  row.sent = at_ms(sent_ms);
  row.answer.first_event = at_ms(sent_ms + 20);
  row.answer.last_event = at_ms(sent_ms + 50);
  row.answer.end = at_ms(sent_ms + 60);
  row.answer.events = 3;
  row.answer.gaps = {core::Duration::milliseconds(10), core::Duration::milliseconds(20)};
  row.answer.prompt_tokens = 7;
  row.answer.completion_tokens = 3;
  return row;
}

TEST(ObservedResults, AreOfRequestsThatCount) {
  ObservedResults observed;
  observe::Row warm_up = row_of(0, 0);
  warm_up.is_warm_up = true;
  observed.add(warm_up);
  observed.add(row_of(2, 2000));
  observed.add(row_of(1, 1000));
  observe::Row failed = row_of(3, 3000);
  failed.answer.error = "refused";
  observed.add(failed);
  observe::Row unsent = row_of(4, 0);
  unsent.sent.reset();
  observed.add(unsent);
  observed.results().put_in_order();
  const auto& rows = observed.results().rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].id, core::RequestId(1));
  EXPECT_THAT(observed.results().gaps_of(rows[0]), ElementsAre(0.01, 0.02));
  EXPECT_FALSE(rows[2].completed);
  EXPECT_EQ(rows[2].outcome, domain::Outcome::kFailed);

  observe::RecordHead head;
  head.model = "served";
  const auto result = observed.result(scenario::Scenario(), head);
  EXPECT_EQ(result.summary.completed, 2);
  EXPECT_EQ(result.summary.requests(), 3);
  EXPECT_EQ(result.summary.total_input_tokens, 14);
  EXPECT_EQ(result.summary.total_output_tokens, 6);
  EXPECT_THAT(result.summary.duration_s, ::testing::Optional(DoubleEq(1.06)));
  const auto mean = [&](metrics::Metric metric) {
    return result.summary.client.of(metric)->of(metrics::Statistic::kMean);
  };
  EXPECT_DOUBLE_EQ(mean(metrics::Metric::kTtft), 20.0);
  EXPECT_DOUBLE_EQ(mean(metrics::Metric::kTpot), 20.0);
  EXPECT_DOUBLE_EQ(mean(metrics::Metric::kItl), 15.0);
  EXPECT_DOUBLE_EQ(mean(metrics::Metric::kE2e), 60.0);
  EXPECT_EQ(result.config.find("model")->as_string(), "served");
}

TEST(ObservedResults, OfNothingHaveNoNumbers) {
  const auto result = ObservedResults().result(scenario::Scenario(), observe::RecordHead());
  EXPECT_EQ(result.summary.completed, 0);
  EXPECT_FALSE(result.summary.duration_s.has_value());
  EXPECT_FALSE(result.summary.client.of(metrics::Metric::kTtft).has_value());
}

}  // namespace
}  // namespace ridgeline::verbs

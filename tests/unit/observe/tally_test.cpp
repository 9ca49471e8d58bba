#include "observe/tally.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "observe/record.hpp"
#include "observe/stop_rules.hpp"

namespace ridgeline::observe {
namespace {

core::SimTime tally_ms(std::int64_t ms) {
  return core::SimTime::at(core::Duration::milliseconds(ms));
}

/// Due at `due`, sent 1 ms later, first token 10 ms and last 40 ms after that, 4 tokens.
Row row(std::int64_t due) {
  Row row{.request = {}, .due = tally_ms(due)};
  row.request.id = core::RequestId(0);
  row.request.prompt_tokens = core::Tokens(8);
  row.request.output_tokens = core::Tokens(4);
  row.request.max_tokens = core::Tokens(4);
  row.sent = tally_ms(due + 1);
  row.status = 200;
  row.answer.first_event = tally_ms(due + 11);
  row.answer.last_event = tally_ms(due + 41);
  row.answer.end = tally_ms(due + 42);
  row.answer.events = 4;
  row.answer.gaps = std::vector(3, core::Duration::milliseconds(10));
  row.answer.completion_tokens = 4;
  row.answer.prompt_tokens = 9;
  return row;
}

Row failed(std::int64_t due) {
  Row failed = row(due);
  failed.answer.error = "HTTP 503: busy";
  return failed;
}

using Figure = Tally::Figure;

TEST(Tally, CountsFromTheSendingAndFromTheDueTime) {
  Tally tally;
  tally.on_row(row(0));
  tally.on_row(row(5));
  const auto mean = [&](Figure figure) { return tally.spread(figure)->mean; };
  EXPECT_DOUBLE_EQ(mean(Figure::kTtft), 10.0);
  EXPECT_DOUBLE_EQ(mean(Figure::kTtftFromDue), 11.0);
  EXPECT_DOUBLE_EQ(mean(Figure::kTpot), 10.0);
  EXPECT_DOUBLE_EQ(mean(Figure::kE2e), 41.0);
  EXPECT_DOUBLE_EQ(mean(Figure::kE2eFromDue), 42.0);
  EXPECT_DOUBLE_EQ(mean(Figure::kLag), 1.0);
  EXPECT_EQ(tally.spread(Figure::kItl)->count, 6);
  EXPECT_FALSE(tally.spread(Figure::kConnect).has_value());
  EXPECT_EQ(tally.other_prompts(), 2);
  EXPECT_EQ(tally.other_outputs(), 0);
  EXPECT_DOUBLE_EQ(*tally.prompt_ratio(), 9.0 / 8.0);
}

TEST(Tally, HeldAndConnectingIsNoLag) {
  Row late = row(0);
  late.sent = tally_ms(100);
  late.held = core::Duration::milliseconds(90);
  late.connect = core::Duration::milliseconds(7);
  EXPECT_EQ(late.lag(), core::Duration::milliseconds(3));
  late.connect = core::Duration::milliseconds(20);
  EXPECT_EQ(late.lag(), core::Duration());
}

TEST(Tally, EventsOfSeveralTokensSayNothingOfTheTimeBetweenTokens) {
  Row merged = row(0);
  merged.answer.events = 3;
  Tally tally;
  tally.on_row(merged);
  EXPECT_FALSE(tally.spread(Figure::kItl).has_value());
  EXPECT_TRUE(tally.spread(Figure::kTpot).has_value());
}

TEST(Tally, WarmUpAndFailuresHaveNoLatencies) {
  Tally tally;
  Row warm = row(0);
  warm.is_warm_up = true;
  tally.on_row(warm);
  tally.on_row(failed(0));
  tally.on_row(failed(1));
  EXPECT_EQ(tally.done(), 3);
  EXPECT_EQ(tally.warm_up(), 1);
  EXPECT_EQ(tally.failed(), 2);
  EXPECT_FALSE(tally.spread(Figure::kE2e).has_value());
  ASSERT_EQ(tally.errors().size(), 1U);
  EXPECT_EQ(tally.errors().front().second, 2);
}

TEST(Tally, RulesAreMetByWhatCameLast) {
  const std::vector<StopRule> rules = {*parse_stop_rule("errors>10%"),
                                       *parse_stop_rule("ttft_p50>50ms"),
                                       *parse_stop_rule("in_flight>3")};
  Tally tally;
  EXPECT_EQ(tally.why_stop(rules, 4, tally_ms(0)), "in_flight>3");
  for (int i = 0; i < 18; ++i) {
    tally.on_row(row(i));
  }
  EXPECT_EQ(tally.why_stop(rules, 3, tally_ms(100)), "");
  tally.on_row(failed(20));
  tally.on_row(failed(21));
  EXPECT_EQ(tally.why_stop(rules, 3, tally_ms(100)), "");  // 10 %
  tally.on_row(failed(22));
  EXPECT_EQ(tally.why_stop(rules, 3, tally_ms(100)), "errors>10%");

  Tally slow;
  Row late = row(0);
  late.answer.first_event = tally_ms(100);
  slow.on_row(late);
  EXPECT_EQ(slow.why_stop(rules, 3, tally_ms(100)), "ttft_p50>50ms");
  EXPECT_EQ(slow.why_stop(rules, 3, tally_ms(20'000)), "");  // More than ten seconds ago.
}

TEST(Tally, KnowsAServerThatIsGone) {
  Tally refused;
  Row no_connection = failed(0);
  no_connection.connection_failed = true;
  for (int i = 0; i < 19; ++i) {
    refused.on_row(no_connection);
  }
  EXPECT_EQ(refused.why_gone(), "");
  refused.on_row(row(0));
  for (int i = 0; i < 20; ++i) {
    refused.on_row(no_connection);
  }
  EXPECT_EQ(refused.why_gone(), "20 connections in a row failed");

  Tally half;
  for (int i = 0; i < 49; ++i) {
    half.on_row(i % 2 == 0 ? failed(i) : row(i));
  }
  EXPECT_EQ(half.why_gone(), "");
  half.on_row(row(50));
  EXPECT_EQ(half.why_gone(), "25 of the last 50 requests failed");
  half.on_row(row(51));  // The first of them failed.
  EXPECT_EQ(half.why_gone(), "");
}

}  // namespace
}  // namespace ridgeline::observe

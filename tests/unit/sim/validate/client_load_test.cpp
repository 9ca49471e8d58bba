#include "sim/validate/client_load.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/validate/evidence.hpp"

namespace ridgeline::sim::validate {
namespace {

TEST(ClientLoad, StatisticsOfSingleRequests) {
  std::vector<ClientRequest> requests(3);
  requests[0].ttft_ms = 10.0;
  requests[1].ttft_ms = 30.0;
  const auto figures = figures_of_requests(requests);
  EXPECT_EQ(figures.at(Figure::kTtft, Level::kMean), 20.0);
  EXPECT_EQ(figures.at(Figure::kTtft, Level::kP90), 28.0);  // 10 + 0.9 * (30 - 10)
  EXPECT_FALSE(figures.at(Figure::kE2e, Level::kMean).has_value());
}

// 100 requests in 10 s and the 2 s that the last takes: they came in 10 s.
TEST(ClientLoad, TheLastAnswerIsNoOverload) {
  EXPECT_DOUBLE_EQ(sustained_rate(100.0, 100.0 / 12.0, 2000.0).value(), 10.0);
  EXPECT_EQ(sustained_rate(100.0, 8.0, {}), 8.0);
  EXPECT_FALSE(sustained_rate(100.0, {}, 2000.0).has_value());
}

TEST(ClientLoad, RequestsOutOfRangeAreLeftOut) {
  Evidence evidence;
  evidence.offered_per_s = 9.0;
  StageLoad stage = open_load(4, 0.0, StageLoad::Kind::kRandom);
  replay_requests({{.place = "a", .start_s = 5.0, .input_tokens = 10, .output_tokens = 1},
                   {.place = "b", .start_s = 6.0, .input_tokens = 0.5, .output_tokens = 1},
                   {.place = "c", .start_s = 4.0, .input_tokens = 20, .output_tokens = 1}},
                  evidence,
                  stage);
  EXPECT_EQ(stage.kind, StageLoad::Kind::kRecorded);
  ASSERT_EQ(stage.rows.size(), 2U);
  EXPECT_EQ(stage.rows[0].input_tokens, 20);
  EXPECT_EQ(stage.rows[1].arrival_s, 1.0);
  EXPECT_EQ(evidence.offered_per_s, 2.0);  // two requests in a second, whatever was asked for
  ASSERT_EQ(evidence.left_out.size(), 1U);
  EXPECT_THAT(evidence.left_out[0], ::testing::HasSubstr("1 of 3 requests: b has 0.5 tokens"));
}

}  // namespace
}  // namespace ridgeline::sim::validate

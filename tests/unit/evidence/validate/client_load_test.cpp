#include "evidence/validate/client_load.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::ElementsAre;

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
  Evidence evidence;
  note_throughput(100.0, 8.0, evidence);
  EXPECT_EQ(evidence.completed_per_s, 8.0);
  evidence.measured.at(Figure::kE2e, Level::kMean) = 2000.0;
  note_throughput(100.0, 100.0 / 12.0, evidence);
  EXPECT_DOUBLE_EQ(evidence.completed_per_s.value(), 10.0);
  note_throughput(100.0, {}, evidence);
  EXPECT_FALSE(evidence.completed_per_s.has_value());
}

// One request a second for 10 s. The last has 100 tokens more than the mean: at 10 ms each the run
// ends 0.9 s later than the mean answer after it.
TEST(ClientLoad, ALongLastAnswerIsNoOverload) {
  Evidence evidence;
  evidence.measured.at(Figure::kE2e, Level::kMean) = 1000.0;
  evidence.measured.at(Figure::kTpot, Level::kMean) = 10.0;
  evidence.offered_per_s = 1.0;
  std::vector<ClientRequest> requests;
  for (int i = 0; i < 10; ++i) {
    requests.push_back({.start_place = "start",
                        .start_s = static_cast<double>(i),
                        .input_tokens = 10.0,
                        .output_tokens = i == 9 ? 200.0 : 100.0});
  }
  note_throughput(10.0, 10.0 / (9.0 + 1.0 + 0.9), evidence);
  StageLoad stage = open_load(10.0, 10.0, StageLoad::Kind::kRandom);
  replay_requests(std::move(requests), evidence, stage);
  EXPECT_DOUBLE_EQ(*evidence.offered_per_s, 1.0);
  EXPECT_DOUBLE_EQ(*evidence.completed_per_s, 1.0);
}

ClientRequest request_at(double start_s, double input_tokens) {
  return {
      .start_place = "start", .start_s = start_s, .input_tokens = input_tokens, .output_tokens = 1};
}

TEST(ClientLoad, UnsoundRequestsAreLeftOutAndTheFirstIsNamed) {
  Evidence evidence;
  std::vector<ClientRequest> all = {
      request_at(5.0, 10), request_at(6.0, 10), request_at(4.0, 20), request_at(1e7, 20)};
  all[1].problem = "b is odd";
  const auto sound = sound_requests(all, evidence);
  ASSERT_EQ(sound.size(), 2U);
  EXPECT_EQ(sound[1].input_tokens, 20);
  EXPECT_THAT(evidence.left_out, ElementsAre("2 of 4 requests: b is odd"));
  EXPECT_EQ(evidence.problem, "");
  EXPECT_TRUE(sound_requests({all[1]}, evidence).empty());
  EXPECT_EQ(evidence.problem, "no request is sound: b is odd");
}

TEST(ClientLoad, SoundRequestsAreReplayedAsSent) {
  Evidence evidence;
  evidence.offered_per_s = 9.0;
  StageLoad stage = open_load(4, 0.0, StageLoad::Kind::kRandom);
  replay_requests({request_at(5.0, 10), request_at(4.0, 20)}, evidence, stage);
  EXPECT_EQ(stage.kind, StageLoad::Kind::kRecorded);
  ASSERT_EQ(stage.rows.size(), 2U);
  EXPECT_EQ(stage.rows[0].input_tokens, 20);
  EXPECT_EQ(stage.rows[1].arrival_s, 1.0);
  EXPECT_EQ(evidence.offered_per_s, 1.0);  // one gap of a second, whatever was asked for
}

TEST(ClientLoad, AFileWithOtherRequestsThanTheTotalsIsNotUsed) {
  const auto used = [](double counted, std::vector<ClientRequest> requests) {
    Evidence evidence;
    StageLoad stage = open_load(counted, 1.0, StageLoad::Kind::kRandom);
    replay_if_complete("r.jsonl", std::move(requests), counted, evidence, stage);
    EXPECT_EQ(evidence.doubts.empty(), !stage.rows.empty());
    return !stage.rows.empty();
  };
  ClientRequest odd = request_at(0.0, 10);
  odd.problem = "odd";
  EXPECT_TRUE(used(2, {request_at(0.0, 10), request_at(1.0, 10)}));
  EXPECT_FALSE(used(1, {request_at(0.0, 10), request_at(1.0, 10)}));
  EXPECT_FALSE(used(3, {request_at(0.0, 10), request_at(1.0, 10)}));
  // The row that cannot be read may be of a request that failed, or not.
  EXPECT_TRUE(used(2, {request_at(0.0, 10), odd, request_at(1.0, 10)}));
  EXPECT_TRUE(used(3, {request_at(0.0, 10), odd, request_at(1.0, 10)}));
}

TEST(ClientLoad, NumbersThatAreNoneAreNamed) {
  const auto problem_of = [](const std::string& json) {
    std::string problem;
    const auto node = document::parse_json(json, "own").value();
    static_cast<void>(read_number(node.find("x"), "x[5]", kAllowedTokens, problem));
    return problem;
  };
  EXPECT_EQ(problem_of(R"({"x": 7})"), "");
  EXPECT_EQ(problem_of(R"({"x": -7})"), "x[5] is -7, expected 1 to 1.67772e+07");
  EXPECT_EQ(problem_of(R"({"x": null})"), "x[5] is null or NaN, expected a number");
  EXPECT_EQ(problem_of(R"({"x": "7"})"), "x[5] is a text, expected a number");
  EXPECT_EQ(problem_of("{}"), "x[5] is missing");
}

}  // namespace
}  // namespace ridgeline::evidence::validate

#include "plan/demand.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/question.hpp"
#include "plan/space.hpp"

namespace ridgeline::plan {
namespace {

class DemandOfATrace : public testing::Test {
 protected:
  DemandOfATrace()
      : path_((std::filesystem::temp_directory_path() /
               fmt::format("ridgeline-demand-{}",
                           testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string()) {}
  ~DemandOfATrace() override { std::filesystem::remove(path_); }

  core::Result<Demand> demand(const std::string& text, const std::string& rate = "") {
    std::ofstream(path_) << text;
    QuestionWords words;
    words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                       {.path = "gpu", .text = "h100"},
                       {.path = "workload.trace", .text = path_},
                       {.path = "slo.ttft", .text = "1s"}};
    if (!rate.empty()) {
      words.overrides.push_back({.path = "workload.request_rate", .text = rate});
    }
    const auto question = read_question(words);
    const auto space = Space::read(*question);
    return demand_of(space->resolve(space->point(0))->resolved);
  }

 private:
  std::string path_;
};

/// 200 sessions of four turns, two a second.
constexpr const char* kSessions =
    "ridgeline_workload: 1\n"
    "sources: [{request_rate: 2, num_prompts: 200, client: {arrivals: constant, input_len: 100, "
    "output_len: 10, session: {turns: 4, think_s: 5}}}]\n";

TEST_F(DemandOfATrace, CountsEveryTurnOfASession) {
  const auto found = demand(kSessions);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->trace_requests, 800);
  ASSERT_TRUE(found->session_rate.has_value());
  EXPECT_NEAR(*found->session_rate, 2.0, 0.02);
  // 199 gaps of half a second, and three pauses behind the last session's first turn.
  EXPECT_NEAR(found->rate, 800.0 / (199 * 0.5 + 3 * 5.0), 0.01);
  EXPECT_NE(found->text().find("req/s in 2.01 sessions/s"), std::string::npos) << found->text();
}

TEST_F(DemandOfATrace, AStatedRateIsThatOfTheSessions) {
  const auto once = demand(kSessions);
  const auto found = demand(kSessions, "4");
  ASSERT_TRUE(once.has_value() && found.has_value());
  EXPECT_DOUBLE_EQ(*found->session_rate, 4.0);
  EXPECT_GT(found->rate, 1.5 * once->rate);
}

TEST_F(DemandOfATrace, WhatPromptsShareIsSpared) {
  std::string rows;
  constexpr int kRequests = 400;
  for (int i = 0; i < kRequests;
       ++i) {  // One of two prefixes of 2,048 tokens, then 512 of its own.
    const int prefix = i % 2 * 10;
    rows += fmt::format(
        R"({{"timestamp":{},"input_length":2560,"output_length":10,"hash_ids":[{},{},{},{},{}]}})"
        "\n",
        i * 100,
        prefix,
        prefix + 1,
        prefix + 2,
        prefix + 3,
        1'000 + i);
  }
  const auto found = demand(rows);
  ASSERT_TRUE(found.has_value());
  // All but the first of each prefix find it.
  const double spared = 2'048.0 * (kRequests - 2) / kRequests;
  EXPECT_NEAR(static_cast<double>(found->spared), spared, 1.0);
  EXPECT_NEAR(found->mean_input, 2'560.0 - spared, 1.0);
}

TEST_F(DemandOfATrace, ClientsThatNeverRestAreRefused) {
  const auto found = demand(
      "version: \"2\"\nclients: [{id: a, concurrency: 4, arrival: {process: constant}, "
      "input_distribution: {type: constant, params: {value: 10}}, output_distribution: {type: "
      "constant, params: {value: 10}}}]\nhorizon: 1000000\n");
  ASSERT_FALSE(found.has_value());
}

}  // namespace
}  // namespace ridgeline::plan

// One reading of a client's file for all verbs: what `validate` simulates is what `replay` sends.
#include "evidence/validate/file_load.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::evidence::validate {
namespace {

Evidence read_loaded(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  const auto evidence = read_evidence(path);
  if (!evidence || evidence->size() != 1) {
    ADD_FAILURE() << (evidence ? "not one record" : core::to_string(evidence.error().front()));
    return {};
  }
  EXPECT_EQ(evidence->front().problem, "");
  return evidence->front();
}

/// When requests are sent, in seconds.
std::vector<double> starts_of(FileLoad& load) {
  std::vector<double> starts;
  while (const auto next = load.next_arrival()) {
    starts.push_back(next->to_seconds());
    load.on_completion(load.pop().id, *next);
  }
  return starts;
}

/// Four requests at 4 a second, with no times of their own.
std::string untimed(const std::string& backend) {
  return R"({"backend": ")" + backend + R"(", "model_id": "m", "request_rate": 4.0,
      "completed": 4, "duration": 1.2, "total_input_tokens": 40, "total_output_tokens": 8,
      "mean_ttft_ms": 30.0, "mean_tpot_ms": 7.0, "request_throughput": 3.3,
      "output_throughput": 6.7, "input_lens": [10, 10, 10, 10], "output_lens": [2, 2, 2, 2]})";
}

TEST(FileLoad, ARateWithoutTimesIsSpreadAtThatRateAndSaid) {
  const Evidence evidence = read_loaded("untimed.json", untimed("vllm"));
  EXPECT_EQ(evidence.family, "vllm-bench");
  ASSERT_EQ(evidence.warnings.size(), 1U);
  EXPECT_EQ(evidence.warnings.front().code, "W-no-start-times");
  ASSERT_NE(evidence.stages.front().items, nullptr);
  FileLoad load(*evidence.stages.front().items, 1);
  EXPECT_EQ(starts_of(load), (std::vector<double>{0.0, 0.25, 0.5, 0.75}));
  // Without that reader too: as long as rows are to be left out.
  EXPECT_EQ(evidence.stages.front().kind, StageLoad::Kind::kEven);
  EXPECT_EQ(evidence.stages.front().duration_s, 1.0);
}

TEST(FileLoad, SglangsResultIsItsOwn) {
  EXPECT_EQ(read_loaded("sglang.json", untimed("sglang")).family, "sglang-bench");
}

TEST(FileLoad, OneOfTwoRanksHasHalfOfIt) {
  const Evidence evidence = read_loaded("ranks.json", untimed("vllm"));
  FileLoad load(*evidence.stages.front().items, 2);
  EXPECT_EQ(load.size(), 2);
  EXPECT_EQ(load.times_rank(), 2.0);
}

TEST(FileLoad, SessionsKeepTheirTurnsAndWhatTheyShare) {
  const auto turn = [](const std::string& start, const std::string& session, int input) {
    return R"({"metadata": {"request_start_ns": )" + start + R"(000000000, "x_correlation_id": ")" +
           session +
           R"(", "conversation_id": "talk"}, "metrics": {"input_sequence_length": {"value": )" +
           std::to_string(input) +
           R"(}, "output_sequence_length": {"value": 8},
              "time_to_first_token": {"value": 20, "unit": "ms"},
              "request_latency": {"value": 80, "unit": "ms"}}})" +
           "\n";
  };
  std::string text = turn("100", "a", 20) + turn("102", "a", 40);
  for (char& letter : text) {
    letter = letter == '\n' ? ' ' : letter;
  }
  // A line each.
  const std::size_t second = text.find("{\"metadata\"", 1);
  text.insert(second, "\n");
  const Evidence evidence = read_loaded("profile_export.jsonl", text);
  ASSERT_NE(evidence.stages.front().items, nullptr);
  FileLoad load(*evidence.stages.front().items, 1);
  const domain::Request first = load.pop();
  const domain::Request next = load.pop();
  EXPECT_EQ(first.session, next.session);
  EXPECT_EQ(next.turn, 1);
  EXPECT_TRUE(load.names_prompts());
  EXPECT_EQ((*next.prompt.begin()).content, (*first.prompt.begin()).content);
  EXPECT_EQ(next.arrival.to_seconds(), 2.0);
}

}  // namespace
}  // namespace ridgeline::evidence::validate

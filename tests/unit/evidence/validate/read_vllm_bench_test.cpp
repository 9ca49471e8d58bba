// Read as any file is: by what it holds.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/benchmark_results.hpp"
#include "evidence/validate/evidence.hpp"
#include "unit/evidence/validate/result_text.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReadVllmBench, VllmBenchInDetail) {
  const auto all = read_result(R"({"date": "d", "model_id": "m", "completed": 2,
    "request_rate": 4.0, "total_input_tokens": 300, "total_output_tokens": 30,
    "request_throughput": 3.9, "output_throughput": 60.0,
    "mean_ttft_ms": 20.0, "median_ttft_ms": 19.0, "p99_ttft_ms": 30.0, "mean_tpot_ms": 0.0,
    "input_lens": [100, 200], "output_lens": [10, 20], "start_times": [5.5, 5.0]})",
                               ResultKind::kVllmBench);
  ASSERT_EQ(all.size(), 1U);
  const Evidence& evidence = all.front();
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.model, "m");
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kP50), 19.0);
  EXPECT_FALSE(evidence.measured.at(Figure::kTpot, Level::kMean).has_value());
  ASSERT_EQ(evidence.stages.size(), 1U);
  EXPECT_EQ(evidence.stages[0].kind, StageLoad::Kind::kRecorded);
  ASSERT_EQ(evidence.stages[0].rows.size(), 2U);
  EXPECT_DOUBLE_EQ(evidence.stages[0].rows[1].arrival_s, 0.5);
  EXPECT_EQ(evidence.stages[0].rows[1].input_tokens, 100);
}

// A failed request keeps start 0 beside a clock that has run for 116 days; one start is off by 1e7
// s.
TEST(ReadVllmBench, OddStartsOfVllmBenchAreNamed) {
  const auto all = read_result(R"({"completed": 3, "request_rate": 4.0, "mean_ttft_ms": 20.0,
    "total_input_tokens": 300, "total_output_tokens": 30,
    "input_lens": [100, 100, 100, 100], "output_lens": [10, 0, 10, 10],
    "start_times": [1e7, 0, 1e7, 2e7]})",
                               ResultKind::kVllmBench);
  ASSERT_EQ(all[0].problem, "");
  ASSERT_EQ(all[0].stages[0].rows.size(), 2U);
  EXPECT_EQ(all[0].stages[0].rows[1].arrival_s, 0.0);
  ASSERT_EQ(all[0].left_out.size(), 1U);
  EXPECT_THAT(all[0].left_out[0], ::testing::HasSubstr("1 of 3 requests: start_times[3]"));
}

TEST(ReadVllmBench, TheFileSaysTheSampling) {
  const std::string rest = R"("completed": 1, "request_rate": 4.0, "mean_ttft_ms": 20.0,
    "total_input_tokens": 300, "total_output_tokens": 30})";
  EXPECT_EQ(read_result(R"({"generation_config": "auto", )" + rest, ResultKind::kVllmBench)
                .front()
                .generation_config,
            "auto");
  EXPECT_FALSE(
      read_result("{" + rest, ResultKind::kVllmBench).front().generation_config.has_value());
}

TEST(ReadVllmBench, VllmBenchWithSoManyClientsOrAtOnce) {
  const auto closed = read_result(R"({"completed": 40, "request_rate": "inf", "max_concurrency": 4,
    "total_input_tokens": 4000, "total_output_tokens": 400, "mean_ttft_ms": 1})",
                                  ResultKind::kVllmBench);
  EXPECT_EQ(closed[0].stages[0].kind, StageLoad::Kind::kClosed);
  EXPECT_EQ(closed[0].stages[0].concurrency, 4);
  EXPECT_DOUBLE_EQ(closed[0].input.mean, 100.0);
  const auto burst = read_result(R"({"completed": 40, "request_rate": "inf",
    "total_input_tokens": 4000, "total_output_tokens": 400, "mean_ttft_ms": 1})",
                                 ResultKind::kVllmBench);
  EXPECT_EQ(burst[0].stages[0].kind, StageLoad::Kind::kAtOnce);
}

/// A result in detail, of which `change` replaces a piece.
Evidence detailed(const std::string& from, const std::string& to) {
  std::string text =
      R"({"completed": 3, "request_rate": 4.0, "duration": 10.0, "mean_ttft_ms": 20.0,
    "mean_e2el_ms": 500.0, "total_input_tokens": 300, "total_output_tokens": 30,
    "input_lens": [100, 101, 102], "output_lens": [10, 11, 12], "ttfts": [0.02, 0.02, 0.02],
    "start_times": [1.0, 2.0, 9.0]})";
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return read_result(text.replace(at, from.size(), to), ResultKind::kVllmBench).front();
}

TEST(ReadVllmBench, TheFieldThatIsOddIsNamed) {
  const auto left_out = [](const std::string& from, const std::string& to) {
    const Evidence evidence = detailed(from, to);
    EXPECT_EQ(evidence.problem, "");
    EXPECT_EQ(evidence.stages[0].rows.size(), 2U);
    return evidence.left_out.empty() ? std::string() : evidence.left_out.front();
  };
  EXPECT_THAT(left_out("101", "-7"),
              HasSubstr("1 of 3 requests: input_lens[1] is -7, expected 1 to"));
  EXPECT_THAT(left_out("11,", "null,"), HasSubstr("output_lens[1] is null or NaN"));
  EXPECT_THAT(left_out("2.0, 9.0", "null, 9.0"), HasSubstr("start_times[1] is null or NaN"));
  EXPECT_THAT(left_out("0.02, 0.02]", "0.02, -1]"), HasSubstr("ttfts[2] is -1"));
}

TEST(ReadVllmBench, ListsOfDifferentLengthsAreNotUsed) {
  for (const char* list :
       {"\"output_lens\": [10, ", "\"ttfts\": [0.02, ", "\"start_times\": [1.0, "}) {
    const std::string short_list = std::string(list).substr(0, std::string(list).find('[') + 1);
    const Evidence evidence = detailed(list, short_list);
    EXPECT_EQ(evidence.problem, "");
    EXPECT_TRUE(evidence.stages[0].rows.empty());
    EXPECT_THAT(evidence.doubts, Contains(HasSubstr("has 2 items, expected 3, as input_lens has")));
  }
}

TEST(ReadVllmBench, AStatisticThatIsNoNumberIsNamed) {
  const Evidence evidence = detailed("\"mean_ttft_ms\": 20.0", "\"mean_ttft_ms\": null");
  EXPECT_EQ(evidence.problem, "");
  EXPECT_THAT(evidence.doubts,
              Contains(HasSubstr("mean_ttft_ms is null or NaN, expected a number")));
  EXPECT_THAT(detailed("\"mean_ttft_ms\": 20.0", "\"mean_ttft_ms\": 0").doubts,
              Not(Contains(HasSubstr("null or NaN"))));
}

// The last request starts 8 s after the first; its first token comes 20 ms later.
TEST(ReadVllmBench, ADurationThatTheRequestsExceedIsNamed) {
  EXPECT_THAT(detailed("10.0", "8.02").doubts, Not(Contains(HasSubstr("duration"))));
  EXPECT_THAT(detailed("10.0", "7.5").doubts,
              Contains(HasSubstr("duration is 7.5 s, expected 8.02 s or more")));
  // Starts 3 s after the first on average, and ends 6 s later on average.
  EXPECT_THAT(detailed("500.0", "8000.0").doubts,
              Contains(HasSubstr("duration is 10 s, expected 11 s or more")));
}

}  // namespace
}  // namespace ridgeline::evidence::validate

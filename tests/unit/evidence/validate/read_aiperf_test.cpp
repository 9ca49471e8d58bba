// Read as any file is: by what it holds.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/benchmark_results.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/result_document.hpp"
#include "unit/evidence/validate/result_text.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(ReadAiperf, AiperfStatistics) {
  const auto all = read_result(R"({"input_config": {"endpoint": {"model_names": ["m"]},
      "loadgen": {"concurrency": 4}},
    "request_count": {"unit": "requests", "avg": 40},
    "time_to_first_token": {"unit": "ms", "avg": 20, "p99": 30},
    "request_latency": {"unit": "s", "avg": 1.5},
    "input_sequence_length": {"unit": "tokens", "avg": 100},
    "output_sequence_length": {"unit": "tokens", "avg": 10}})",
                               ResultKind::kAiperf);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_EQ(all[0].model, "m");
  EXPECT_EQ(all[0].measured.at(Figure::kTtft, Level::kP99), 30.0);
  EXPECT_EQ(all[0].measured.at(Figure::kE2e, Level::kMean), 1500.0);
  EXPECT_EQ(all[0].stages[0].kind, StageLoad::Kind::kClosed);
  EXPECT_EQ(all[0].stages[0].concurrency, 4);
}

TEST(ReadAiperf, TheLoadIsWhereEachVersionWritesIt) {
  const auto read = [](const std::string& config) {
    return read_result(R"({"input_config": {)" + config + R"(},
    "request_count": {"avg": 40}, "time_to_first_token": {"unit": "ms", "avg": 20},
    "request_latency": {"unit": "s", "avg": 1.5}, "input_sequence_length": {"avg": 100},
    "output_sequence_length": {"avg": 10}})",
                       ResultKind::kAiperf)
        .front();
  };
  EXPECT_EQ(read(R"("concurrency": 2)").stages[0].concurrency, 2);
  EXPECT_EQ(read(R"("perf_analyzer": {"stimulus": {"request_rate": 8}})").offered_per_s, 8.0);
  const Evidence phases = read(R"("phases": [{"type": "concurrency", "kind": "warmup",
      "concurrency": 1}, {"type": "constant", "rate": 5}])");
  EXPECT_EQ(phases.offered_per_s, 5.0);
  EXPECT_EQ(phases.stages[0].kind, StageLoad::Kind::kEven);
  EXPECT_THAT(read(R"("model": ["m"])").problem, HasSubstr("how requests were sent"));
}

TEST(ReadAiperf, AiperfRequests) {
  const auto record = [](const std::string& more) {
    return document::parse_json(R"({"metadata": {"request_start_ns": 3000000000)" + more + R"(},
      "metrics": {"input_sequence_length": {"value": 64, "unit": "tokens"},
                  "output_sequence_length": {"value": 8, "unit": "tokens"},
                  "time_to_first_token": {"value": 20, "unit": "ms"}}, "error": null})",
                                "own.jsonl")
        .value();
  };
  ASSERT_TRUE(is_aiperf_request(record("")));
  const auto evidence =
      read_aiperf_requests({{.number = 1, .node = record("")},
                            {.number = 2, .node = record(R"(, "benchmark_phase": "warmup")")},
                            {.number = 3, .node = record(R"(, "was_cancelled": true)")}});
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.stages[0].rows.size(), 1U);
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 20.0);
}

TEST(ReadAiperf, BrokenRowsAreLeftOutByLineAndField) {
  const std::string sound = R"({"metadata": {"request_start_ns": 3000000000}, "metrics":
    {"input_sequence_length": {"value": 64}, "output_sequence_length": {"value": 8},
     "time_to_first_token": {"value": 20, "unit": "ms"}}})";
  const auto left_out = [&](const std::string& second) {
    const Evidence evidence =
        read_aiperf_requests({{.number = 1, .node = parse_result(sound, "r.jsonl")},
                              {.number = 7, .node = parse_result(second, "r.jsonl")}});
    EXPECT_EQ(evidence.problem, "");
    EXPECT_EQ(evidence.stages[0].rows.size(), 1U);
    return evidence.left_out.empty() ? std::string() : evidence.left_out.front();
  };
  EXPECT_THAT(left_out("{"), HasSubstr("1 of 2 requests: line 7: "));
  EXPECT_THAT(left_out(R"({"metadata": {"request_start_ns": null}, "metrics": {}})"),
              HasSubstr("line 7: metadata.request_start_ns is null or NaN"));
  EXPECT_THAT(left_out(R"({"metadata": {"request_start_ns": 1}, "metrics": {}})"),
              HasSubstr("line 7: metrics.input_sequence_length.value is missing"));
  EXPECT_THAT(left_out(R"({"metadata": {"request_start_ns": 1}, "metrics":
      {"input_sequence_length": {"value": 64}, "output_sequence_length": {"value": 8},
       "time_to_first_token": {"value": null}}})"),
              HasSubstr("line 7: metrics.time_to_first_token.value is null or NaN"));
}

TEST(ReadAiperf, AUnitThatIsNoneOfTimeIsNamed) {
  const auto all = read_result(R"({"input_config": {"loadgen": {"concurrency": 4}},
    "request_count": {"avg": 40}, "time_to_first_token": {"unit": "min", "avg": 20},
    "request_latency": {"unit": "ms", "avg": null, "p50": 3},
    "input_sequence_length": {"avg": 100}, "output_sequence_length": {"avg": 10}})",
                               ResultKind::kAiperf);
  EXPECT_EQ(all[0].problem, "");
  EXPECT_THAT(all[0].doubts,
              UnorderedElementsAre(HasSubstr("time_to_first_token.unit is \"min\""),
                                   HasSubstr("request_latency.avg is null or NaN"),
                                   HasSubstr("own.jsonl is missing or not used")));
}

}  // namespace
}  // namespace ridgeline::evidence::validate

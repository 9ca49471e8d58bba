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

TEST(ReadInferencePerf, InferencePerfRequests) {
  const auto all = read_result(R"([{"start_time": 10, "end_time": 11, "error": null,
      "info": {"input_tokens": 64, "output_tokens": 3, "output_token_times": [10.2, 10.9]}},
    {"start_time": 12, "end_time": 13, "error": {"error_type": "x"}},
    {"start_time": 14, "end_time": 15, "error": null,
      "info": {"input_tokens": 32, "output_tokens": 1, "output_token_times": [14.5]}}])",
                               ResultKind::kInferencePerfRequests);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].problem, "");
  ASSERT_EQ(all[0].stages[0].rows.size(), 2U);
  EXPECT_EQ(all[0].stages[0].rows[1].arrival_s, 4.0);
  // (200 + 500) / 2 ms to the first token; (10.9 - 10.2) s over two further tokens, one request.
  EXPECT_NEAR(all[0].measured.at(Figure::kTtft, Level::kMean).value(), 350.0, 1e-9);
  EXPECT_NEAR(all[0].measured.at(Figure::kTpot, Level::kMean).value(), 350.0, 1e-9);
  EXPECT_NEAR(all[0].measured.at(Figure::kE2e, Level::kMean).value(), 1000.0, 1e-9);
}

TEST(ReadInferencePerf, InferencePerfStage) {
  const auto all = read_result(R"({"load_summary": {"send_duration": 10, "requested_rate": 2},
    "successes": {"count": 20, "latency": {"time_to_first_token": {"mean": 0.02, "p99": 0.1}},
      "throughput": {"requests_per_sec": 1.9}, "prompt_len": {"mean": 64},
      "output_len": {"mean": 8}}})",
                               ResultKind::kInferencePerf);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_EQ(all[0].measured.at(Figure::kTtft, Level::kP99), 100.0);
  EXPECT_EQ(all[0].stages[0].requests, 20);
  EXPECT_EQ(all[0].offered_per_s, 2.0);
}

TEST(ReadInferencePerf, NamesOfVersion07) {
  const auto stage = read_result(R"({"load_summary": {"send_duration": 10, "requested_rate": 2},
    "successes": {"count": 20, "latency": {"time_to_first_token": {"mean": 0.02}},
      "prompt_tokens": {"mean": 64}, "output_tokens": {"mean": 8}}})",
                                 ResultKind::kInferencePerf);
  ASSERT_EQ(stage[0].problem, "");
  EXPECT_EQ(stage[0].input.mean, 64.0);
  EXPECT_EQ(stage[0].output.mean, 8.0);
  const auto requests = read_result(R"([{"start_time": 10, "end_time": 11, "error": null, "info":
      {"request_metrics": {"text": {"input_tokens": 64}}, "response_metrics":
       {"output_tokens": 3, "output_token_times": [10.2, 10.9]}}}])",
                                    ResultKind::kInferencePerfRequests);
  ASSERT_EQ(requests[0].problem, "");
  EXPECT_NEAR(requests[0].measured.at(Figure::kTtft, Level::kMean).value(), 200.0, 1e-9);
}

TEST(ReadInferencePerf, ATimePerTokenThatMissesE2eIsNotCompared) {
  const auto read = [](const std::string& tpot) {
    return read_result(R"({"load_summary": {"send_duration": 10, "requested_rate": 2}, "successes":
      {"count": 20, "latency": {"time_to_first_token": {"mean": 0.05}, "request_latency":
      {"mean": 0.4}, "time_per_output_token": {"mean": )" +
                           tpot + R"(}}, "prompt_len": {"mean": 64}, "output_len": {"mean": 20}}})",
                       ResultKind::kInferencePerf)
        .front();
  };
  EXPECT_TRUE(read("0.0175").measured.at(Figure::kTpot, Level::kMean).has_value());
  const Evidence halved = read("0.00875");
  EXPECT_FALSE(halved.measured.at(Figure::kTpot, Level::kMean).has_value());
  ASSERT_EQ(halved.warnings.size(), 1U);
  EXPECT_EQ(halved.warnings[0].code, "W-measured-contradicts");
  // A mean by requests of uneven answers, beside a mean of all gaps that fits.
  const Evidence uneven = read(R"(0.03}, "inter_token_latency": {"mean": 0.018)");
  EXPECT_TRUE(uneven.measured.at(Figure::kTpot, Level::kMean).has_value());
}

TEST(ReadInferencePerf, ARequestThatCannotBeReadIsLeftOutByName) {
  const auto read = [](const std::string& second) {
    return read_result(R"([{"start_time": 10, "end_time": 11, "error": null,
      "info": {"input_tokens": 64, "output_tokens": 3, "output_token_times": [10.2, 10.9]}}, )" +
                           second + "]",
                       ResultKind::kInferencePerfRequests)
        .front();
  };
  const auto check = [&](const std::string& second, const std::string& field) {
    const Evidence evidence = read(second);
    EXPECT_EQ(evidence.problem, "");
    EXPECT_EQ(evidence.stages[0].rows.size(), 1U);
    // Its times are in no figure.
    EXPECT_NEAR(evidence.measured.at(Figure::kTtft, Level::kMean).value(), 200.0, 1e-9);
    ASSERT_EQ(evidence.left_out.size(), 1U);
    EXPECT_THAT(evidence.left_out[0], ::testing::HasSubstr("1 of 2 requests: request 2: " + field));
  };
  check(R"({"start_time": 12, "end_time": 13, "info": {"input_tokens": 64, "output_tokens": 3,
    "output_token_times": [null, 12.9]}})",
        "info.output_token_times is null or NaN");
  check(R"({"start_time": null, "end_time": 13, "info": {"input_tokens": 64, "output_tokens": 3}})",
        "start_time is null or NaN");
  check(R"({"start_time": 12, "end_time": 11, "info": {"input_tokens": 64, "output_tokens": 3}})",
        "end_time is 11, expected 12 to");
  check(R"({"start_time": 12, "end_time": 13, "info": {"output_tokens": 3}})",
        "info.input_tokens is missing");
}

}  // namespace
}  // namespace ridgeline::evidence::validate

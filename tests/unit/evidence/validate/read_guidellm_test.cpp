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

TEST(ReadGuidellm, GuidellmSweep) {
  const std::string metrics = R"("metrics": {"request_totals": {"successful": 6},
    "prompt_token_count": {"successful": {"mean": 50}},
    "output_token_count": {"successful": {"mean": 5}},
    "request_latency": {"successful": {"mean": 1.5, "percentiles": {"p90": 2.0}}}})";
  const auto all = read_result(
      R"({"benchmarks": [{"config": {"strategy": {"type_": "synchronous"}}, )" + metrics +
          R"(}, {"config": {"strategy": {"type_": "constant", "rate": 2}}, )" + metrics +
          R"(}, {"config": {"strategy": {"type_": "throughput"}}, )" + metrics + "}, {}]}",
      ResultKind::kGuidellm);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].stages[0].concurrency, 1);
  EXPECT_EQ(all[0].measured.at(Figure::kE2e, Level::kMean), 1500.0);
  EXPECT_EQ(all[0].measured.at(Figure::kE2e, Level::kP90), 2000.0);
  EXPECT_EQ(all[1].stages[0].kind, StageLoad::Kind::kEven);
  EXPECT_DOUBLE_EQ(all[1].stages[0].duration_s, 3.0);  // 6 requests at 2 a second
  EXPECT_FALSE(all[2].flags.empty());
  EXPECT_THAT(all[3].problem, ::testing::HasSubstr("metrics is missing"));
}

TEST(ReadGuidellm, RequestsUnderWayAtTheEndAreNoBacklog) {
  const auto all = read_result(R"({"benchmarks": [{"config": {"strategy": {"type_": "poisson",
    "rate": 4}}, "metrics": {"request_totals": {"successful": 25, "incomplete": 15},
    "requests_per_second": {"successful": {"mean": 2.5}},
    "prompt_token_count": {"successful": {"mean": 50}},
    "output_token_count": {"successful": {"mean": 5}},
    "request_latency": {"successful": {"mean": 1.5}}}}]})",
                               ResultKind::kGuidellm);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_EQ(all[0].stages[0].requests, 40);
  EXPECT_FALSE(all[0].completed_per_s.has_value());
  ASSERT_EQ(all[0].warnings.size(), 1U);
  EXPECT_THAT(all[0].warnings[0].message,
              ::testing::HasSubstr("15 of 40 requests were incomplete"));
}

// Whatever its strategy, a report with single requests says when each was sent.
TEST(ReadGuidellm, GuidellmRequestsAreNotAtOnce) {
  const auto all = read_result(R"({"benchmarks": [{"config": {"strategy": {"type_": "trace"}},
    "metrics": {"request_totals": {"successful": 2},
                "request_latency": {"successful": {"mean": 1.5}}},
    "requests": {"successful": [
      {"info": {"timings": {"request_start": 8}}, "input_metrics": {"text_tokens": 50},
       "output_metrics": {"text_tokens": 5}},
      {"info": {"timings": {"request_start": 7}}, "input_metrics": {"text_tokens": 60},
       "output_metrics": {"text_tokens": 6}}]}}]})",
                               ResultKind::kGuidellm);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_TRUE(all[0].flags.empty());
  EXPECT_EQ(all[0].stages[0].kind, StageLoad::Kind::kRecorded);
  ASSERT_EQ(all[0].stages[0].rows.size(), 2U);
  EXPECT_EQ(all[0].stages[0].rows[1].arrival_s, 1.0);
  EXPECT_EQ(all[0].stages[0].rows[1].input_tokens, 50);
}

}  // namespace
}  // namespace ridgeline::evidence::validate

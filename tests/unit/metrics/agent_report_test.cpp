#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "metrics/agent_metrics.hpp"

namespace ridgeline::metrics {
namespace {

AgentRecord record(std::int64_t start_ms, double latency_ms) {
  AgentRecord one{.start = start_ms * 1'000'000,
                  .end = start_ms * 1'000'000 + static_cast<std::int64_t>(latency_ms * 1e6),
                  .input = 100,
                  .output = 11,
                  .ttft_ms = 50.0,
                  .latency_ms = latency_ms};
  one.set_gaps();
  return one;
}

TEST(AgentReport, CountsFailuresAsInfinitelySlow) {
  const std::vector<AgentRecord> records = {
      record(0, 150), record(100, 250), record(200, 350), {.error = "HTTPError"}};
  const auto report = agent_report(records, 2.0, TheoreticalHits{.hits = 1, .blocks = 2});
  EXPECT_EQ(report.find("request_throughput")->find("avg")->as_real(), 1.5);
  EXPECT_EQ(report.find("inter_token_latency")->find("avg")->as_real(), 20.0);
  EXPECT_EQ(report.find("request_latency")->find("p50")->as_real(), 250.0);
  EXPECT_EQ(report.find("adj_request_latency")->find("p50")->as_real(), 350.0);
  EXPECT_EQ(report.find("adj_request_latency")->find("p90"), nullptr);
  EXPECT_EQ(report.find("request_error_rate")->find("avg")->as_real(), 25.0);
  EXPECT_EQ(report.find("theoretical_prefix_cache_hit")->find("avg")->as_real(), 50.0);
}

TEST(AgentRecords, AreReadAsTheyAreWritten) {
  AgentRecord one = record(7, 150);
  one.conversation = "a";
  one.session = "s";
  one.turn = 3;
  core::Errors errors;
  const AgentRecord read = agent_record(agent_record_node(one), errors);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(read.start, one.start);
  EXPECT_EQ(read.output, 11);
  EXPECT_EQ(read.itl_ms, one.itl_ms);
  EXPECT_TRUE(read.counts());
}

TEST(AgentRecords, KnowBothFormsOfAnError) {
  core::Errors errors;
  const auto kind = [&](std::string_view error) {
    const auto line =
        document::parse_json(std::string(R"({"metadata": {"request_start_ns": 1}, "error": )") +
                                 std::string(error) + "}",
                             "x");
    return agent_record(*line, errors).error;
  };
  EXPECT_EQ(kind(R"({"code": 500, "type": "HTTPError"})"), "HTTPError");
  EXPECT_EQ(kind(R"("ConnectionError: reset")"), "ConnectionError");
  EXPECT_FALSE(agent_record(*document::parse_json("{}", "x"), errors).counts() && errors.empty());
}

}  // namespace
}  // namespace ridgeline::metrics

#include "metrics/agent_metrics.hpp"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::metrics {
namespace {

AgentRecord record(double start_s, double ttft_ms, double latency_ms, int input, int output) {
  AgentRecord one{.start = static_cast<std::int64_t>(start_s * 1e9),
                  .input = input,
                  .output = output,
                  .ttft_ms = ttft_ms,
                  .latency_ms = latency_ms};
  one.end = one.start + static_cast<std::int64_t>((latency_ms + 0.4) * 1e6);
  one.set_gaps();
  return one;
}
double at(const document::Node& map, std::vector<std::string_view> path) {
  const document::Node* node = &map;
  for (const std::string_view key : path) {
    node = node->find(key);
    if (node == nullptr) {
      return -1.0;
    }
  }
  return node->as_real();
}

/// Two requests of case m5: answers of 11 and 21 tokens within one second.
std::vector<AgentRecord> two() {
  return {record(0.0, 100, 400, 1000, 11), record(0.2, 150, 500, 2000, 21)};
}

TEST(AgentRow, HasThePublishedFiguresOfTwoRequests) {
  const auto row = agent_row(two(), {{"TP", "2"}, {"PP_SIZE", "2"}, {"CONC", "8"}}, {}, {});
  ASSERT_TRUE(row);
  EXPECT_EQ(at(*row, {"conc"}), 8);
  const auto figure = [&](std::string_view name, std::string_view statistic) {
    return at(*row, {"request_metrics", "latency", name, statistic});
  };
  EXPECT_NEAR(figure("ttft", "p90"), 0.145, 1e-5);
  EXPECT_NEAR(figure("itl", "mean"), 0.02375, 1e-5);
  EXPECT_NEAR(figure("intvty", "p90"), 34.78261, 1e-5);
  EXPECT_NEAR(figure("intvty", "std"), 11.90476, 1e-5);
  EXPECT_NEAR(figure("e2e_norm_intvty", "p90"), 28.48335, 1e-5);
  EXPECT_NEAR(
      at(*row, {"request_metrics", "throughput", "per_gpu", "total_tput_tps"}), 1082.23872, 1e-4);
  EXPECT_EQ(at(*row, {"request_metrics", "qps", "samples"}), 0);
}

TEST(AgentRow, DividesByTheGpusOfBothRoles) {
  const AgentEnvironment environment = {{"IS_MULTINODE", "true"},
                                        {"PREFILL_NUM_WORKERS", "2"},
                                        {"PREFILL_TP", "4"},
                                        {"DECODE_NUM_WORKERS", "1"},
                                        {"DECODE_TP", "8"},
                                        {"DECODE_PCP_SIZE", "2"}};
  EXPECT_EQ(*agent_gpus(environment), 24);
  EXPECT_EQ(at(*agent_row(two(), environment, {}, {}), {"tp"}), 12);
  EXPECT_FALSE(agent_gpus({{"TP", "four"}}));
}

TEST(AgentRow, CountsNeitherWarmUpNorErrors) {
  auto records = two();
  records.push_back(record(0.1, 1, 2, 3, 4));
  records.back().is_profiling = false;
  records.push_back({.error = "HTTPError"});
  const auto accounting = agent_accounting(records);
  EXPECT_EQ(at(accounting, {"records_profiled"}), 2);
  EXPECT_EQ(at(accounting, {"error_categories", "HTTPError"}), 1);
  EXPECT_NEAR(at(agent_request_metrics(records, 1, TheoreticalHits{.hits = 3, .blocks = 4}),
                 {"cache", "theoretical_cache_hit_rate"}),
              0.75,
              1e-9);
}

TEST(AgentCost, IsThePriceOfAMillionTokens) {
  EXPECT_NEAR(cost_per_million_tokens(3.6, 1000.0), 1.0, 1e-12);
}

}  // namespace
}  // namespace ridgeline::metrics

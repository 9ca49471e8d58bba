#include "observe/metrics_page.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::observe {
namespace {

TEST(MetricsPage, ReadsVllmsNames) {
  const auto metrics = read_metrics(
      "# HELP vllm:num_requests_running Number of requests\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n"
      "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 0.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n"
      "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.25\n"
      "vllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 2.0\n"
      "vllm:prefix_cache_queries_total{engine=\"0\"} 1e+06\n"
      "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"27876\",sliding_window=\"None\"} "
      "1.0\n");
  EXPECT_EQ(metrics.running, 7.0);
  EXPECT_EQ(metrics.waiting, 0.0);
  EXPECT_EQ(metrics.kv_use, 0.375);
  EXPECT_EQ(metrics.preemptions, 2.0);
  EXPECT_EQ(metrics.prefix_queries, 1e6);
  EXPECT_FALSE(metrics.prefix_hits.has_value());
  EXPECT_EQ(metrics.num_gpu_blocks(), 27'876);
  EXPECT_EQ(metrics.cache_config.size(), 3U);
}

TEST(MetricsPage, OfTwoNamesForOneValueTheFirstCounts) {
  const auto metrics = read_metrics(
      "vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 0.5\nvllm:num_requests_running 1\n");
  EXPECT_EQ(metrics.kv_use, 0.5);
  EXPECT_EQ(metrics.running, 1.0);
}

TEST(MetricsPage, ReadsOverWhatIsNone) {
  for (const char* page : {"",
                           "\n\n",
                           "<html>",
                           "vllm:num_requests_running",
                           "vllm:num_requests_running{a=\"b} 3",
                           "vllm:num_requests_running{a=\"b\"",
                           "vllm:num_requests_running{a} 3",
                           "vllm:num_requests_running NaN",
                           "vllm:num_requests_running +Inf\r",
                           "vllm:num_requests_running x"}) {
    EXPECT_TRUE(read_metrics(page).empty()) << page;
  }
  EXPECT_TRUE(read_metrics("vllm:num_requests_running{" + std::string(100'000, ',')).empty());
  const auto escaped = read_metrics("vllm:cache_config_info{a=\"x\\\"\\\\y\\n\"} 1\n");
  ASSERT_EQ(escaped.cache_config.size(), 1U);
  EXPECT_EQ(escaped.cache_config.front().second, "x\"\\y\n");
  EXPECT_FALSE(escaped.num_gpu_blocks().has_value());
}

}  // namespace
}  // namespace ridgeline::observe

#include "serve/server_metrics.hpp"

#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace ridgeline::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

MetricsFacts facts_of(int minor) {
  MetricsFacts facts;
  facts.model_name = "m";
  facts.version = {.minor = minor, .patch = 0};
  facts.max_model_len = 1000;
  facts.kv_blocks = 200;
  facts.cache_config = {{"block_size", "16"}, {"num_gpu_blocks", "201"}};
  return facts;
}

std::string page_of(int minor) {
  return ServerMetrics(facts_of(minor)).page({});
}

TEST(ServerMetrics, HaveTheNamesOfTheirVersion) {
  const std::string oldest = page_of(8);
  EXPECT_THAT(oldest, HasSubstr("vllm:gpu_cache_usage_perc{"));
  EXPECT_THAT(oldest, HasSubstr("vllm:gpu_prefix_cache_hits_total{"));
  EXPECT_THAT(oldest, HasSubstr("vllm:time_per_output_token_seconds_count{"));
  EXPECT_THAT(oldest, Not(HasSubstr("vllm:kv_cache_usage_perc")));
  EXPECT_THAT(oldest, Not(HasSubstr("inter_token_latency")));
  const std::string middle = page_of(15);
  EXPECT_THAT(middle, HasSubstr("vllm:kv_cache_usage_perc{"));
  EXPECT_THAT(middle, HasSubstr("vllm:inter_token_latency_seconds_count{"));
  EXPECT_THAT(middle, HasSubstr("vllm:engine_sleep_state{"));
  EXPECT_THAT(middle, Not(HasSubstr("gpu_cache_usage_perc")));
  EXPECT_THAT(middle, Not(HasSubstr("vllm:time_per_output_token_seconds")));
  const std::string newest = page_of(20);
  EXPECT_THAT(newest,
              HasSubstr("vllm:num_requests_waiting_by_reason{engine=\"0\","
                        "model_name=\"m\",reason=\"capacity\"} 0.0"));
  EXPECT_THAT(newest, HasSubstr("vllm:prompt_tokens_by_source_total{"));
}

TEST(ServerMetrics, StandAtZeroFromTheStart) {
  const std::string page = page_of(15);
  for (const char* const reason : {"stop", "length", "abort", "error"}) {
    EXPECT_THAT(page,
                HasSubstr("vllm:request_success_total{engine=\"0\",finished_reason=\"" +
                          std::string(reason) + "\",model_name=\"m\"} 0.0"));
  }
}

TEST(ServerMetrics, CountWhatHappened) {
  ServerMetrics metrics(facts_of(20));
  EngineMetrics& engine = metrics.engine(core::InstanceId(0));
  engine.on_first_token(0.03, 100);
  engine.on_token_gap(0.02);
  engine.on_tokens(2);
  engine.on_steps(101, 1);
  metrics.on_steps(1, 0.01);
  const RequestTimes times{
      .e2e = 0.4, .queue = 0.0, .prefill = 0.02, .decode = 0.02, .inference = 0.04};
  engine.on_end(Finished::kLength, &times, 100, 2, 40, 16, 1, 0);
  ServerMetrics::Now now;
  now.engines.emplace_back();
  now.engines[0].state.running = 3;
  now.engines[0].state.used_blocks = core::Blocks(50);
  const std::string page = metrics.page(now);
  const std::string labels = "{engine=\"0\",model_name=\"m\"} ";
  EXPECT_THAT(page, HasSubstr("vllm:num_requests_running" + labels + "3.0"));
  EXPECT_THAT(page, HasSubstr("vllm:kv_cache_usage_perc" + labels + "0.25"));
  EXPECT_THAT(page, HasSubstr("vllm:prompt_tokens_total" + labels + "100.0"));
  EXPECT_THAT(page, HasSubstr("vllm:generation_tokens_total" + labels + "2.0"));
  EXPECT_THAT(page, HasSubstr("vllm:e2e_request_latency_seconds_sum" + labels + "0.4"));
  EXPECT_THAT(page,
              HasSubstr("vllm:prompt_tokens_by_source_total{engine=\"0\",model_name=\"m\","
                        "source=\"local_compute\"} 60.0"));
}

TEST(ServerMetrics, NewerVersionsHaveMoreNames) {
  for (const auto& [version, preemptions, sources] :
       {std::tuple(29, false, false), std::tuple(30, true, false), std::tuple(32, true, true)}) {
    const std::string page = page_of(version);
    const auto has = [&](const char* text) { return page.find(text) != std::string::npos; };
    EXPECT_EQ(has("vllm:request_num_preemptions_bucket"), preemptions) << version;
    EXPECT_EQ(has("vllm:prompt_tokens_cached_by_source_total{engine=\"0\",model_name=\"m\","
                  "source=\"device\"} 0.0"),
              sources)
        << version;
    EXPECT_EQ(has("vllm:admission_rejections_total{model_name=\"m\","
                  "reason=\"max_num_queued_reqs\"} 0.0"),
              sources)
        << version;
  }
}

TEST(ServerMetrics, EachRankHasItsLines) {
  MetricsFacts facts = facts_of(15);
  facts.engines = 2;
  ServerMetrics metrics(facts);
  metrics.engine(core::InstanceId(1)).on_tokens(5);
  metrics.engine(core::InstanceId(0)).on_token_gap(0.02);
  ServerMetrics::Now now;
  now.engines.resize(2);
  now.engines[1].state.running = 3;
  const std::string page = metrics.page(now);
  EXPECT_THAT(page,
              HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0.0\n"
                        "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 3.0\n"));
  EXPECT_THAT(page,
              HasSubstr("vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 0.0\n"
                        "vllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} 5.0\n"));
  EXPECT_THAT(
      page, HasSubstr("vllm:inter_token_latency_seconds_count{engine=\"0\",model_name=\"m\"} 1.0"));
  EXPECT_THAT(
      page, HasSubstr("vllm:inter_token_latency_seconds_count{engine=\"1\",model_name=\"m\"} 0.0"));
  EXPECT_THAT(
      page,
      HasSubstr("vllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"201\"}"));
}

TEST(ServerMetrics, ShowAdaptersWhereThereAreSome) {
  ServerMetrics::Now now;
  EXPECT_THAT(ServerMetrics(facts_of(15)).page(now), Not(HasSubstr("lora_requests_info")));
  now.adapters = {.max_loras = 2, .waiting = "", .running = "a"};
  now.unix_seconds = 5.0;
  EXPECT_THAT(ServerMetrics(facts_of(15)).page(now),
              HasSubstr("vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"a\","
                        "waiting_lora_adapters=\"\"} 5.0"));
}

TEST(ServerMetrics, StepsAreShortWhereMostAre) {
  ServerMetrics metrics(MetricsFacts{});
  EXPECT_FALSE(metrics.are_steps_short());
  metrics.on_steps(2, 2e-3);
  metrics.on_steps(2, 0.5e-3);
  EXPECT_FALSE(metrics.are_steps_short());
  metrics.on_steps(1, 0.5e-3);
  EXPECT_TRUE(metrics.are_steps_short());
}

}  // namespace
}  // namespace ridgeline::serve

#include "evidence/validate/server_spans.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

std::string line(const std::string& id, double prefill_s, const std::string& tokens) {
  const auto attribute = [](const std::string& key, const std::string& value) {
    return R"({"key":"gen_ai.)" + key + R"(","value":{)" + value + "}}";
  };
  return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"5000000000",)"
         R"("attributes":[)" +
         attribute("request.id", R"("stringValue":")" + id + R"(")") + "," +
         attribute("latency.time_to_first_token", R"("doubleValue":)" + std::to_string(prefill_s)) +
         "," + attribute("latency.e2e", R"("doubleValue":2)") + "," +
         attribute("latency.time_in_queue", R"("doubleValue":0.00001)") + "," +
         attribute("latency.time_in_model_prefill",
                   R"("doubleValue":)" + std::to_string(prefill_s)) +
         "," + attribute("latency.time_in_model_decode", R"("doubleValue":1)") + "," +
         attribute("usage.completion_tokens", R"("intValue":")" + tokens + R"(")") + "]}]}]}]}\n";
}

TEST(ServerSpans, ReadsALineAnExport) {
  const auto spans =
      read_server_spans(line("cmpl-a-0", 0.5, "10") + line("cmpl-b-0", 1.5, "30"), "traces.json");
  ASSERT_TRUE(spans.has_value());
  ASSERT_EQ(spans->size(), 2U);
  EXPECT_EQ(spans->at("cmpl-a").start_s, 5.0);
  const Figures figures = figures_of_spans({&spans->at("cmpl-a"), &spans->at("cmpl-b")});
  EXPECT_DOUBLE_EQ(*figures.at(Figure::kServerTtft, Level::kMean), 1000.0);
  EXPECT_DOUBLE_EQ(*figures.at(Figure::kServerE2e, Level::kP90), 2000.0);
  // All prefill and decode times by all tokens, not the mean of the requests' own.
  EXPECT_DOUBLE_EQ(*figures.at(Figure::kServerItl, Level::kMean), (1500.0 + 2500.0) / 40.0);
  EXPECT_FALSE(figures.at(Figure::kQueue, Level::kMean));  // 10 us are no wait
}

TEST(ServerSpans, OtherFilesAreRefused) {
  EXPECT_THAT(read_server_spans("{}", "traces.json").error().front().message,
              ::testing::HasSubstr("holds no span with gen_ai.request.id"));
  EXPECT_THAT(
      read_server_spans(line("a-0", 1, "1") + "nonsense\n", "traces.json").error().front().message,
      ::testing::HasSubstr("line 2: expected JSON"));
}

}  // namespace
}  // namespace ridgeline::evidence::validate

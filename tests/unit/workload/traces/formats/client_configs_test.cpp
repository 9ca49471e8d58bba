#include "workload/traces/formats/client_configs.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

using testing::HasSubstr;

core::Result<ItemList> items_of(const TraceFormat& format, const std::string& text) {
  auto stream = format.open_document({.text = text, .path = "c.yaml", .seed = 1});
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

std::string why(const core::Result<ItemList>& items) {
  return items ? "" : core::to_string(items.error().front());
}

TEST(GuidellmScenario, EachBenchmarkIsAStage) {
  const std::string data =
      "spec:\n  data: [{kind: synthetic_text, prompt_tokens: 100, output_tokens: 20}]\n"
      "  constraints: [{kind: max_requests, count: 5}]\n";
  const auto items = items_of(kGuidellmScenario,
                              data +
                                  "  profile: {kind: concurrent}\nbenchmarks:\n"
                                  "- profile.streams: 2\n- profile.streams: [3, 4]\n");
  ASSERT_TRUE(items.has_value()) << why(items);
  EXPECT_EQ(items->items.size(), 15U);
  EXPECT_EQ(items->stages.size(), 3U);
  EXPECT_EQ(items->stages[2].max_concurrency, 4);
  EXPECT_EQ(items->items[0].input_tokens.value(), 100);
  EXPECT_THAT(why(items_of(kGuidellmScenario, data + "  profile: {kind: sweep}\n")),
              HasSubstr("spec.profile.kind"));
}

TEST(AiperfConfig, PhasesAreReadButForWarmUps) {
  const std::string head =
      "benchmark:\n  datasets:\n  - {type: synthetic, prompts: {isl: {mean: 100, stddev: 0}, osl: "
      "20}}\n  phases:\n  - {type: concurrency, kind: warmup, requests: 9}\n";
  const auto items = items_of(kAiperfConfig, head + "  - {type: constant, rate: 2, duration: 5}\n");
  ASSERT_TRUE(items.has_value()) << why(items);
  ASSERT_EQ(items->items.size(), 10U);
  EXPECT_NEAR(items->items[1].arrival.to_seconds(), 0.5, 1e-9);
  EXPECT_THAT(why(items_of(kAiperfConfig, head + "  - {type: fixed_schedule}\n")),
              HasSubstr("benchmark.phases.type"));
}

}  // namespace
}  // namespace ridgeline::workload

#include "metrics/summary.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "domain/record.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Summary complete() {
  Summary summary;
  summary.completed = 1;
  summary.by_outcome[0] = 1;
  summary.duration_s = 1.0;
  for (auto& distribution : summary.client.by_metric) {
    distribution = Distribution{};
  }
  summary.server = summary.client;
  summary.queue_time_ms = Distribution{};
  summary.request_throughput = summary.output_throughput = summary.total_token_throughput = 1.0;
  summary.goodput = summary.good_share = 1.0;
  summary.slo.resize(1);
  summary.slo[0].value_ms = 1.0;
  summary.slo[0].met = true;
  summary.slo[0].share = 1.0;
  summary.kv_cache = {.peak = 0.5, .mean = 0.5, .prefix_hit_rate = 0.0};
  return summary;
}

std::string text_of(const core::Warnings& warnings) {
  std::string text;
  for (const auto& warning : warnings) {
    text += warning.code + " " + warning.message + "\n";
  }
  return text;
}

TEST(MissingNumbers, SaysNothingWhereAllNumbersAre) {
  EXPECT_TRUE(missing_numbers(complete()).empty());
}

TEST(MissingNumbers, NamesTheFieldsOfOneReasonTogether) {
  Summary summary = complete();
  summary.client.by_metric[1].reset();
  summary.server.by_metric[1].reset();
  summary.client.by_metric[2].reset();
  summary.server.by_metric[2].reset();
  EXPECT_EQ(text_of(missing_numbers(summary)),
            "W-no-number summary.tpot_ms, summary.server.tpot_ms, summary.itl_ms, "
            "summary.server.itl_ms: no request generated more than one token\n");
}

TEST(MissingNumbers, OfAnEmptyRunNamesEveryFieldOnce) {
  const std::string text = text_of(missing_numbers(Summary{}));
  for (const char* field : {"summary.ttft_ms",
                            "summary.server.e2e_ms",
                            "summary.queue_time_ms",
                            "summary.duration_s",
                            "summary.request_throughput",
                            "summary.output_throughput",
                            "summary.total_token_throughput",
                            "summary.goodput",
                            "summary.kv_cache.peak",
                            "summary.kv_cache.mean",
                            "summary.kv_cache.prefix_hit_rate"}) {
    const std::size_t at = text.find(field);
    ASSERT_NE(at, std::string::npos) << field;
    EXPECT_EQ(text.find(std::string(field) + ",", at + 1), std::string::npos) << field;
  }
  EXPECT_THAT(text, Not(HasSubstr("more than one token")));
}

TEST(MissingNumbers, TellsTheReasonsForNoGoodputApart) {
  Summary summary = complete();
  summary.goodput.reset();
  summary.slo.clear();
  EXPECT_EQ(text_of(missing_numbers(summary)), "W-no-number summary.goodput: no target was set\n");
  summary = complete();
  summary.goodput.reset();
  EXPECT_EQ(text_of(missing_numbers(summary)),
            "W-no-number summary.goodput: the completed requests took no time\n");
}

TEST(MissingNumbers, NamesVerdictsWithoutAValue) {
  Summary summary = complete();
  summary.slo[0].metric = Metric::kItl;
  summary.slo[0].value_ms.reset();
  summary.slo[0].met.reset();
  summary.client.by_metric[2].reset();
  EXPECT_EQ(text_of(missing_numbers(summary)),
            "W-no-number summary.itl_ms, summary.slo.itl.value_ms, summary.slo.itl.met: "
            "no request generated more than one token\n");
}

TEST(MissingNumbers, TellsNoStepsFromNoBlocks) {
  Summary summary = complete();
  summary.kv_cache.mean.reset();
  EXPECT_EQ(text_of(missing_numbers(summary)),
            "W-no-number summary.kv_cache.mean: the engine ran no step\n");
  summary.kv_cache.peak.reset();
  EXPECT_EQ(text_of(missing_numbers(summary)),
            "W-no-number summary.kv_cache.peak, summary.kv_cache.mean: "
            "the engine has no KV blocks\n");
}

}  // namespace
}  // namespace ridgeline::metrics

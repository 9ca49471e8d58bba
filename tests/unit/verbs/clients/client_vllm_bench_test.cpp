#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "unit/verbs/clients/client_fixtures.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using fixtures::number_at;
using fixtures::rendered;
using fixtures::two_requests;

// Two requests of 1 s to their last token and 4 s to the stream's end, 4 and 1 tokens.
// Its client stops at the last token.
TEST(ClientVllmBench, Definitions) {
  const document::Node vllm = rendered("vllm-bench", {}, two_requests());
  EXPECT_DOUBLE_EQ(number_at(vllm, {"mean_e2el_ms"}), 1000.0);
  EXPECT_DOUBLE_EQ(number_at(vllm, {"mean_tpot_ms"}), 250.0);
  ASSERT_EQ(vllm.find("itls")->items().size(), 3U);
  EXPECT_EQ(vllm.find("itls")->items()[0].items().size(), 3U);
  // A request that failed has no answer.
  EXPECT_EQ(vllm.find("output_lens")->items()[2].as_integer(), 0);
}

// Starts at 2 s: in the first second come the tokens at 0.25, 0.5 and 0.75 s, in the next those at
// 1 and 1 s; both requests are in flight in both.
TEST(ClientVllmBench, PeaksBySecond) {
  const document::Node vllm = rendered("vllm-bench", {}, two_requests());
  EXPECT_EQ(number_at(vllm, {"max_output_tokens_per_s"}), 3.0);
  EXPECT_EQ(number_at(vllm, {"max_concurrent_requests"}), 2.0);
  EXPECT_EQ(vllm.find("errors")->items()[0].as_string(), "");
  EXPECT_EQ(vllm.find("errors")->items()[2].as_string(), "rejected");
}

// As the client writes it; and a simulated run has no date.
TEST(ClientVllmBench, AMetricThatNoRequestHasIsZero) {
  const document::Node vllm = rendered("vllm-bench", {}, {});
  EXPECT_EQ(number_at(vllm, {"mean_tpot_ms"}), 0.0);
  EXPECT_EQ(number_at(vllm, {"p99_ttft_ms"}), 0.0);
  EXPECT_EQ(vllm.find("date"), nullptr);
}

}  // namespace
}  // namespace ridgeline::verbs

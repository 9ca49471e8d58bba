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
// AIPerf stops at the last token.
TEST(ClientAiperf, Definitions) {
  const document::Node aiperf = rendered("aiperf", {}, two_requests());
  EXPECT_DOUBLE_EQ(number_at(aiperf, {"request_latency", "avg"}), 1000.0);
  EXPECT_DOUBLE_EQ(number_at(aiperf, {"inter_token_latency", "avg"}), 250.0);
  EXPECT_DOUBLE_EQ(number_at(aiperf, {"time_to_first_token", "p50"}), 625.0);
}

TEST(ClientAiperf, OneRecordARequest) {
  const std::string text = (*find_client_format("aiperf"))->render_requests(two_requests());
  const auto first = document::parse_json(text.substr(0, text.find('\n')), "own.jsonl").value();
  EXPECT_DOUBLE_EQ(number_at(first, {"metadata", "request_start_ns"}), 2e9);
  EXPECT_DOUBLE_EQ(number_at(first, {"metadata", "request_end_ns"}), 3e9);
  EXPECT_DOUBLE_EQ(number_at(first, {"metrics", "time_to_first_token", "value"}), 250.0);
  EXPECT_TRUE(first.find("error")->is_null());
}

}  // namespace
}  // namespace ridgeline::verbs

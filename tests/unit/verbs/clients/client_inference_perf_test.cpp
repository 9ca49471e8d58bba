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
TEST(ClientInferencePerf, Definitions) {
  const auto results = two_requests();
  const document::Node perf = rendered("inference-perf", {}, results);
  const auto perf_at = [&](const char* name, const char* statistic) {
    return number_at(perf, {"successes", "latency", name, statistic});
  };
  EXPECT_DOUBLE_EQ(perf_at("time_per_output_token", "mean"), 0.25);
  EXPECT_DOUBLE_EQ(perf_at("normalized_time_per_output_token", "max"), 4.0);
  EXPECT_DOUBLE_EQ(perf_at("request_latency", "p10"), 4.0);
}

// First token after 0.25 s, then one each 0.25 s; the third request failed.
TEST(ClientInferencePerf, RequestsHoldTheirTokenTimes) {
  const auto format = *find_client_format("inference-perf");
  const auto requests =
      document::parse_json(format->render_requests(two_requests()), "own.json").value();
  ASSERT_EQ(requests.items().size(), 3U);
  const document::Node* info = requests.items()[0].find("info");
  EXPECT_EQ(info->find("output_token_times")->items().size(), 4U);
  EXPECT_EQ(info->find("output_token_times")->items()[3].as_real(), 3.0);
  EXPECT_EQ(requests.items()[0].find("end_time")->as_real(), 6.0);
  EXPECT_TRUE(requests.items()[0].find("error")->is_null());
  EXPECT_TRUE(requests.items()[2].find("error")->is_map());
}

}  // namespace
}  // namespace ridgeline::verbs

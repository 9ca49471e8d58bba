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
TEST(ClientGuidellm, Definitions) {
  const auto results = two_requests();
  const document::Node guidellm = rendered("guidellm", {}, results);
  const std::vector<std::string> metrics = {"benchmarks", "0", "metrics"};
  const auto guidellm_at = [&](const char* name, const char* statistic) {
    auto path = metrics;
    path.insert(path.end(), {name, "successful", statistic});
    return number_at(guidellm, path);
  };
  // (1000 / 4 + 1000 / 1) / 2 ms: TTFT is inside, the stream's end is not.
  EXPECT_DOUBLE_EQ(guidellm_at("time_per_output_token_ms", "mean"), 625.0);
  // One token has no gap.
  EXPECT_DOUBLE_EQ(guidellm_at("inter_token_latency_ms", "count"), 1.0);
  EXPECT_DOUBLE_EQ(guidellm_at("inter_token_latency_ms", "mean"), 250.0);
  EXPECT_DOUBLE_EQ(guidellm_at("request_latency", "mean"), 4.0);
  EXPECT_DOUBLE_EQ(guidellm_at("time_to_first_token_ms", "median"), 625.0);
  // TTFTs of 0.25 s and 1 s: mean 0.625, deviation 0.375.
  EXPECT_DOUBLE_EQ(guidellm_at("time_to_first_token_ms", "std_dev"), 375.0);
}

// guidellm's strategy is an object, by which its reader knows how the load was made.
TEST(ClientGuidellm, NamesItsStrategy) {
  RunResult result;
  result.config =
      document::parse_json(
          R"({"workload": {"arrivals": "poisson", "burstiness": 1, "request_rate": 2}})",
          "own.json")
          .value();
  const document::Node guidellm = rendered("guidellm", result, {});
  const document::Node* strategy =
      guidellm.find("benchmarks")->items()[0].find("config")->find("strategy");
  EXPECT_EQ(strategy->find("type_")->as_string(), "poisson");
  EXPECT_EQ(strategy->find("rate")->as_real(), 2.0);
}

}  // namespace
}  // namespace ridgeline::verbs

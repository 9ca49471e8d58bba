#include "report/client_results.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "report/schemas.hpp"
#include "unit/report/example_result.hpp"
#include "unit/report/schema_check.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two requests: 1 s and 4 s in all, first tokens after 0.25 s and 1 s, 4 and 1 tokens.
ClientResults two_requests() {
  ClientResults results;
  domain::RequestRecord record;
  record.outcome = domain::Outcome::kFinished;
  record.prompt_tokens = core::Tokens(100);
  record.output_tokens = core::Tokens(4);
  record.arrival = core::SimTime::at(core::Duration::seconds(2));
  metrics::RequestMetrics metrics;
  metrics.ttft = core::Duration::milliseconds(250);
  metrics.e2e = core::Duration::seconds(1);
  metrics.tpot = core::Duration::milliseconds(250);
  results.on_request(record, metrics);
  record.output_tokens = core::Tokens(1);
  metrics.ttft = core::Duration::seconds(1);
  metrics.e2e = core::Duration::seconds(4);
  metrics.tpot.reset();
  results.on_request(record, metrics);
  record.outcome = domain::Outcome::kRejected;
  results.on_request(record, {});
  return results;
}

double number_at(const core::Node& tree, const std::vector<std::string>& path) {
  const core::Node* node = &tree;
  for (const std::string& key : path) {
    node = key == "0" ? &node->items().at(0) : node->find(key);
    if (node == nullptr) {
      ADD_FAILURE() << "no " << key;
      return 0.0;
    }
  }
  return node->as_real();
}

TEST(ClientResults, ValidateAgainstTheirSchemas) {
  const auto results = two_requests();
  for (const ClientFormat& format : client_formats()) {
    const core::EmbeddedFile* file = nullptr;
    for (const auto& schema : schema_files()) {
      file = schema.name == format.schema ? &schema : file;
    }
    ASSERT_NE(file, nullptr) << format.schema;
    const auto schema = core::parse_json(file->text, std::string(file->name));
    ASSERT_TRUE(schema.has_value());
    const core::Node tree = format.render(testing::example_result(), results.rows());
    EXPECT_THAT(testing::SchemaCheck(*schema).problems(tree), IsEmpty()) << format.name;
    EXPECT_THAT(testing::SchemaCheck(*schema).problems(format.render({}, {})), IsEmpty())
        << format.name;
  }
}

// TPOT by each client's own definition, of the first request (e2e 1 s, ttft 0.25 s, 4 tokens).
TEST(ClientResults, DefinitionsFollowTheClient) {
  const auto results = two_requests();
  const core::Node guidellm = (*find_client_format("guidellm"))->render({}, results.rows());
  const std::vector<std::string> metrics = {"benchmarks", "0", "metrics"};
  const auto guidellm_at = [&](const char* name, const char* statistic) {
    auto path = metrics;
    path.insert(path.end(), {name, "successful", statistic});
    return number_at(guidellm, path);
  };
  // (1000 / 4 + 4000 / 1) / 2 ms: TTFT is inside.
  EXPECT_DOUBLE_EQ(guidellm_at("time_per_output_token_ms", "mean"), 2125.0);
  // One token has no gap.
  EXPECT_DOUBLE_EQ(guidellm_at("inter_token_latency_ms", "count"), 1.0);
  EXPECT_DOUBLE_EQ(guidellm_at("inter_token_latency_ms", "mean"), 250.0);
  EXPECT_DOUBLE_EQ(guidellm_at("time_to_first_token_ms", "median"), 625.0);
  // Of 0.25 s and 1 s: mean 0.625, deviation 0.375.
  EXPECT_DOUBLE_EQ(guidellm_at("time_to_first_token_ms", "std_dev"), 375.0);

  const core::Node perf = (*find_client_format("inference-perf"))->render({}, results.rows());
  const auto perf_at = [&](const char* name, const char* statistic) {
    return number_at(perf, {"successes", "latency", name, statistic});
  };
  EXPECT_DOUBLE_EQ(perf_at("time_per_output_token", "mean"), 0.25);
  EXPECT_DOUBLE_EQ(perf_at("normalized_time_per_output_token", "max"), 4.0);
  EXPECT_DOUBLE_EQ(perf_at("request_latency", "p10"), 1.3);
}

TEST(ClientResults, UnknownClientsNameTheNearest) {
  EXPECT_THAT(core::to_string(find_client_format("guidelm").error()[0]),
              HasSubstr("did you mean 'guidellm'?"));
}

}  // namespace
}  // namespace ridgeline::report

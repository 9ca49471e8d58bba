#include "verbs/run/result_json.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_json.hpp"
#include "metrics/series_tree.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using fixtures::example_result;
using fixtures::rejected_result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> keys(const document::Node& map) {
  std::vector<std::string> names;
  for (const auto& member : map.members()) {
    names.push_back(member.key);
  }
  return names;
}

document::Node parsed(const RunResult& result) {
  return document::parse_json(result_json(result), "result").value_or(document::Node());
}

/// The value at a dotted path.
const document::Node& at(const document::Node& root, const std::string& path) {
  static const document::Node kAbsent;
  const document::Node* node = &root;
  std::size_t begin = 0;
  while (begin <= path.size() && node != nullptr) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    node = node->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  EXPECT_NE(node, nullptr) << path;
  return node != nullptr ? *node : kAbsent;
}

bool warns_of(const document::Node& result, const std::string& field) {
  const auto& warnings = at(result, "warnings").items();
  return std::any_of(warnings.begin(), warnings.end(), [&](const document::Node& warning) {
    return warning.find("message")->as_string().find(field) != std::string::npos;
  });
}

TEST(ResultJson, WritesASeriesAsItsTree) {
  const RunResult result = fixtures::a_run();
  ASSERT_TRUE(result.series);
  const document::Node tree = parsed(result);
  EXPECT_EQ(document::json_line(at(tree, "series")),
            document::json_line(metrics::series_tree(*result.series)));
}

TEST(ResultJson, KeepsTheOrderOfItsKeys) {
  const document::Node result = parsed(example_result());
  EXPECT_THAT(keys(result),
              ElementsAre("schema_version",
                          "run_info",
                          "headline",
                          "command",
                          "stated",
                          "config",
                          "summary",
                          "warnings",
                          "digest"));
  EXPECT_THAT(keys(at(result, "summary")),
              ElementsAre("completed",
                          "length_capped",
                          "failed",
                          "total_input_tokens",
                          "total_output_tokens",
                          "total_cached_tokens",
                          "duration_s",
                          "ttft_ms",
                          "tpot_ms",
                          "itl_ms",
                          "e2e_ms",
                          "server",
                          "queue_time_ms",
                          "request_throughput",
                          "output_throughput",
                          "total_token_throughput",
                          "goodput",
                          "good_share",
                          "slo",
                          "overloaded",
                          "preemptions",
                          "kv_cache",
                          "time_by_bottleneck",
                          "busy_s",
                          "steps"));
  EXPECT_THAT(keys(at(result, "summary.server")),
              ElementsAre("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"));
  EXPECT_THAT(keys(at(result, "summary.ttft_ms")),
              ElementsAre("mean", "std", "p50", "p90", "p95", "p99", "max"));
}

TEST(ResultJson, CarriesEveryNumber) {
  const document::Node result = parsed(example_result());
  EXPECT_EQ(at(result, "schema_version").as_integer(), 2);
  EXPECT_EQ(at(result, "summary.completed").as_integer(), 1000);
  EXPECT_EQ(at(result, "summary.length_capped").as_integer(), 2);
  EXPECT_EQ(at(result, "summary.failed.rejected").as_integer(), 3);
  EXPECT_EQ(at(result, "summary.failed.aborted").as_integer(), 0);
  EXPECT_EQ(at(result, "summary.failed.unfinished").as_integer(), 1);
  EXPECT_DOUBLE_EQ(at(result, "summary.tpot_ms.mean").as_real(), 24.25);
  EXPECT_DOUBLE_EQ(at(result, "summary.tpot_ms.max").as_real(), 30.25);
  EXPECT_DOUBLE_EQ(at(result, "summary.server.e2e_ms.p50").as_real(), 6802.0);
  EXPECT_DOUBLE_EQ(at(result, "summary.queue_time_ms.std").as_real(), 1.5);
  EXPECT_DOUBLE_EQ(at(result, "summary.slo.tpot.limit_ms").as_real(), 20.0);
  EXPECT_FALSE(at(result, "summary.slo.tpot.met").as_bool());
  EXPECT_DOUBLE_EQ(at(result, "summary.kv_cache.mean").as_real(), 0.5);
  EXPECT_DOUBLE_EQ(at(result, "summary.time_by_bottleneck.memory").as_real(), 81.0);
  EXPECT_DOUBLE_EQ(at(result, "summary.busy_s").as_real(), 100.0);
  EXPECT_EQ(at(result, "summary.steps").as_integer(), 46757);
  EXPECT_EQ(at(result, "config.seed").as_integer(), 1);
  EXPECT_EQ(at(result, "run_info.host").as_string(), "box");
  EXPECT_DOUBLE_EQ(at(result, "run_info.jumped_share").as_real(), 0.75);
  EXPECT_EQ(at(result, "digest").as_string(), "9f3c17aa");
  ASSERT_EQ(at(result, "warnings").items().size(), 1U);
  EXPECT_EQ(at(result, "warnings").items()[0].find("hint")->as_string(), "--max-model-len");
}

TEST(ResultJson, NumbersReadBackAsTheyWere) {
  RunResult result = example_result();
  result.summary.duration_s = 0.1 + 0.2;
  result.summary.request_throughput = 1.0 / 3.0;
  const document::Node read = parsed(result);
  EXPECT_EQ(at(read, "summary.duration_s").as_real(), 0.1 + 0.2);
  EXPECT_EQ(at(read, "summary.request_throughput").as_real(), 1.0 / 3.0);
}

TEST(ResultJson, WhereThereIsNoNumberStandsNullWithItsReason) {
  const document::Node result = parsed(rejected_result(3));
  for (const char* path : {"summary.duration_s",
                           "summary.ttft_ms.p99",
                           "summary.goodput",
                           "summary.kv_cache.prefix_hit_rate",
                           "run_info.jumped_share",
                           "run_info.simulated_per_wall"}) {
    EXPECT_TRUE(at(result, path).is_null()) << path;
  }
  EXPECT_TRUE(warns_of(result, "summary.ttft_ms"));
  EXPECT_TRUE(warns_of(result, "summary.goodput"));
  EXPECT_TRUE(warns_of(result, "run_info.jumped_share"));
  EXPECT_FALSE(warns_of(parsed(example_result()), "summary."));
}

TEST(ResultJson, NumbersThatJsonLacksAreNullAndNamed) {
  RunResult result = example_result();
  std::vector<document::Node> rates = {
      document::Node::real(std::numeric_limits<double>::infinity(), {}),
      document::Node::real(2.5, {})};
  result.config = document::Node::map(
      {{.key = "rates", .value = document::Node::list(std::move(rates), {}), .where = {}}}, {});
  const document::Node read = parsed(result);
  EXPECT_TRUE(at(read, "config.rates").items()[0].is_null());
  EXPECT_DOUBLE_EQ(at(read, "config.rates").items()[1].as_real(), 2.5);
  EXPECT_TRUE(warns_of(read, "config.rates[0]"));
}

TEST(ResultJson, OnlyAnInterruptedRunIsPartial) {
  RunResult result = example_result();
  EXPECT_EQ(parsed(result).find("partial"), nullptr);
  result.partial = true;
  EXPECT_TRUE(at(parsed(result), "partial").as_bool());
}

TEST(ResultJson, WithoutTargetsThereAreNoVerdicts) {
  RunResult result = example_result();
  result.summary.slo.clear();
  EXPECT_EQ(at(parsed(result), "summary").find("slo"), nullptr);
  EXPECT_EQ(at(parsed(result), "summary").find("good_share"), nullptr);
}

TEST(ResultJson, OneLineIsOneLine) {
  RunResult result = example_result();
  result.warnings[0].message = "a\nb";
  const std::string line = result_ndjson(result);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_THAT(line, HasSubstr("{\"schema_version\":2,\"run_info\":{\"version\":\"0.1.0\","));
  EXPECT_EQ(
      document::parse_json(line, "line").value_or(document::Node()).find("digest")->as_string(),
      "9f3c17aa");
}

TEST(ResultJson, TextFromOutsideStaysText) {
  RunResult result = example_result();
  result.run_info.version = "\"},\x01\xff";
  const document::Node read = parsed(result);
  EXPECT_EQ(at(read, "run_info.version").as_string(), "\"},\x01\uFFFD");
}

}  // namespace
}  // namespace ridgeline::verbs

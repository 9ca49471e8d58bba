#include "report/schemas.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "domain/label_set.hpp"
#include "unit/report/schema_check.hpp"
#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/result_json.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/step_view.hpp"

namespace ridgeline::report {
namespace {

using testing::SchemaCheck;
using verbs::fixtures::example_result;
using verbs::fixtures::rejected_result;

std::string_view schema_text(std::string_view name) {
  for (const auto& file : schema_files()) {
    if (file.name == name) {
      return file.text;
    }
  }
  return {};
}

document::Node schema(std::string_view name) {
  return document::parse_json(schema_text(name), std::string(name)).value_or(document::Node());
}

std::vector<verbs::RunResult> examples() {
  verbs::RunResult partial = example_result();
  partial.partial = true;
  verbs::RunResult grouped = example_result();
  grouped.summary.overload =
      metrics::Overload{.backlog = {.end_s = 9.0, .offered_rate = 20.0, .sustainable_rate = 12.0}};
  for (const auto label : {domain::Label::kTenant, domain::Label::kPriority}) {
    metrics::GroupSummary group;
    group.label = label;
    grouped.summary.groups.push_back(group);
    group.name = "a";
    group.ttft_ms = verbs::fixtures::ramp(3.0);
    group.goodput = 2.0;
    group.good_share = 0.5;
    grouped.summary.groups.push_back(group);
  }
  verbs::RunResult no_targets = example_result();
  no_targets.summary.slo.clear();
  no_targets.summary.goodput.reset();
  verbs::RunResult not_finite = example_result();
  not_finite.run_info.host.reset();
  not_finite.summary.request_throughput = std::numeric_limits<double>::infinity();
  verbs::RunResult ranks = example_result();
  ranks.deployment.emplace();
  ranks.deployment->data_parallel_size = 8;
  ranks.deployment->request_rate = 10.0;
  return {example_result(),
          partial,
          grouped,
          no_targets,
          not_finite,
          ranks,
          rejected_result(3),
          verbs::RunResult{}};
}

TEST(ResultSchema, IsCompiledIn) {
  EXPECT_TRUE(schema("result.schema.json").is_map());
}

TEST(ResultSchema, EveryResultFollowsIt) {
  const document::Node rules = schema("result.schema.json");
  for (const auto& example : examples()) {
    const auto result = document::parse_json(verbs::result_json(example), "result");
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(SchemaCheck(rules).problems(*result), ::testing::IsEmpty());
  }
}

TEST(ResultSchema, RefusesWhatIsNoResult) {
  const document::Node rules = schema("result.schema.json");
  const std::string good = verbs::result_json(example_result());
  const auto problems_after = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return SchemaCheck(rules).problems(
        document::parse_json(text, "changed").value_or(document::Node()));
  };
  EXPECT_THAT(problems_after("\"schema_version\": 2", "\"schema_version\": 1"),
              ::testing::ElementsAre("$.schema_version is not 2"));
  EXPECT_THAT(problems_after("\"completed\": 1000", "\"completed\": -1"),
              ::testing::ElementsAre("$.summary.completed is too small"));
  EXPECT_THAT(problems_after("\"completed\": 1000", "\"completed\": null"),
              ::testing::ElementsAre("$.summary.completed has the wrong type"));
  EXPECT_THAT(problems_after("\"peak\": 0.914", "\"peak\": 1.5"),
              ::testing::ElementsAre("$.summary.kv_cache.peak is too large"));
  EXPECT_THAT(problems_after("\"statistic\": \"p99\"", "\"statistic\": \"p98\""),
              ::testing::ElementsAre("$.summary.slo.ttft.statistic is none of the allowed values"));
  EXPECT_THAT(problems_after("\"steps\"", "\"stops\""),
              ::testing::UnorderedElementsAre("$.summary lacks steps",
                                              "$.summary has the unknown key stops"));
}

/// A file for another program to read, gone at the end of the test.
class ScratchFile {
 public:
  ScratchFile(const std::string& name, std::string_view text)
      : path_(std::filesystem::path(::testing::TempDir()) / ("ridgeline_" + name)) {
    std::ofstream(path_) << text;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ResultSchema, AnotherValidatorAgrees) {
  const std::string python = "/usr/bin/python3 -c ";
  if (std::system((python + "'import jsonschema' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "python3-jsonschema is not installed";
  }
  const ScratchFile rules("schema.json", schema_text("result.schema.json"));
  std::string lines;
  for (const auto& example : examples()) {
    lines += verbs::result_ndjson(example);
  }
  const ScratchFile results("results.ndjson", lines);
  const std::string program =
      "'import json, sys, jsonschema; "
      "rules = json.load(open(sys.argv[1])); "
      "jsonschema.Draft7Validator.check_schema(rules); "
      "lines = open(sys.argv[2]).readlines(); "
      "[jsonschema.validate(json.loads(line), rules) for line in lines]; "
      "sys.exit(0 if len(lines) == 8 else 3)' ";
  EXPECT_EQ(std::system((python + program + rules.path() + " " + results.path()).c_str()), 0);
}

}  // namespace
}  // namespace ridgeline::report

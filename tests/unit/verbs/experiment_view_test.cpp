#include "verbs/experiment_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;

TEST(ExperimentView, ShowsBothSidesAndWhatWasRead) {
  const auto tree = document::parse_json(R"({"records": [
      {"id": "one", "sources": ["vllm.log: 9 blocks"], "assumed": ["GPU H100"],
       "measured": {"e2e": {"mean": 100}, "server_e2e": {"mean": 90}, "queue": {"mean": 5}},
       "predicted": {"e2e": {"mean": 110}, "server_e2e": {"mean": 99}, "queue": {"mean": 4}},
       "error_pct": {"e2e": {"mean": 10}, "server_e2e": {"mean": 10}, "queue": {"mean": -20}}},
      {"id": "two", "sources": ["vllm.log: 9 blocks"], "assumed": [],
       "measured": {"e2e": {"mean": 100}}}]})",
                                         "t.json");
  const report::TextStyle style{};
  const std::string sides = sides_text(*tree, report::Face::kTerminal, style);
  EXPECT_THAT(sides, HasSubstr("queue"));
  EXPECT_THAT(sides, HasSubstr("+10.0"));
  EXPECT_THAT(sides, ::testing::Not(HasSubstr("two")));
  const std::string read = read_text(*tree, style);
  EXPECT_THAT(read, HasSubstr("vllm.log: 9 blocks\n"));
  EXPECT_THAT(read, HasSubstr("GPU H100 (1 of 2 records)\n"));
}

TEST(ExperimentView, SaysNothingOfOtherRecords) {
  const auto tree = document::parse_json(
      R"({"records": [{"id": "x", "sources": [], "assumed": ["y"], "measured": {}}]})", "t.json");
  EXPECT_EQ(sides_text(*tree, report::Face::kMarkdown, {}), "");
  EXPECT_EQ(read_text(*tree, {}), "");
}

}  // namespace
}  // namespace ridgeline::verbs

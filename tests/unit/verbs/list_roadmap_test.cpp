#include "verbs/list_roadmap.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "engine/schedulers.hpp"
#include "verbs/list_choices.hpp"

namespace ridgeline::verbs {
namespace {

std::string fact(const Choice& choice, const std::string& key) {
  const auto found = std::ranges::find(choice.facts, key, &document::Node::Member::key);
  return found == choice.facts.end() ? "" : found->value.as_string();
}

TEST(Roadmap, HasARowForEachItemOfTheReview) {
  const auto rows = list_roadmap();
  ASSERT_TRUE(rows);
  std::vector<std::string> names;
  for (const Choice& row : *rows) {
    names.push_back(row.name);
    EXPECT_THAT(fact(row, "status"), ::testing::AnyOf("works", "in part", "missing")) << row.name;
    EXPECT_THAT(row.summary, ::testing::StartsWith(fact(row, "status") + ": "));
    // What works can be tried, or is a list of its own.
    EXPECT_TRUE(fact(row, "status") != "works" || row.name == "P/D" ||
                !fact(row, "command").empty())
        << row.name;
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("A100",
                                     "tp8",
                                     "SGLang",
                                     "TensorRT-LLM",
                                     "PP",
                                     "EP",
                                     "DP",
                                     "P/D",
                                     "drafts",
                                     "1M contexts"));
}

TEST(Roadmap, AnEngineWorksWhenItHasAScheduler) {
  const bool has_sglang = engine::find_scheduler(engine::schedulers(), "sglang") != nullptr;
  const auto rows = list_roadmap().value();
  EXPECT_EQ(fact(rows[2], "status"), has_sglang ? "works" : "missing");
  EXPECT_EQ(fact(rows[0], "status"), "works");
}

}  // namespace
}  // namespace ridgeline::verbs

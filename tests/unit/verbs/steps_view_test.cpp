#include "verbs/steps_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;

TEST(StepsView, NamesWhatTookTheTime) {
  const auto tree = document::parse_json(R"({
    "lines": 2, "steps": 3, "busy_us": 1500.0,
    "by_bottleneck": [{"name": "compute", "steps": 1, "us": 500.0, "share": 0.3333},
                      {"name": "memory", "steps": 2, "us": 1000.0, "share": 0.6667}],
    "by_phase": [], "by_operator": [], "bottleneck_by_phase": {},
    "ridge_crossings": {"memory_to_compute": 1, "compute_to_memory": 1},
    "table_lookups": 2, "hit_rate": 0.0, "miss_rate": 1.0, "farthest_miss": 3.0})",
                                         "summary");
  ASSERT_TRUE(tree);
  const std::string text = steps_sheet(*tree).render(report::Face::kTerminal, {});
  EXPECT_THAT(text, HasSubstr("3 steps in 2 records, busy 1.50 ms"));
  EXPECT_THAT(text, HasSubstr("ridge crossings: 1 from memory to compute, 1 back"));
  EXPECT_THAT(text, HasSubstr("2 look-ups: 0 % hits, 100 % without a row of its own"));
  EXPECT_LT(text.find("memory "), text.find("compute "));
}

}  // namespace
}  // namespace ridgeline::verbs

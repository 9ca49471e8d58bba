#include "report/chart/compare.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(Compare, LinesLieOverEachOther) {
  const auto other = verbs::result_tree(verbs::fixtures::a_run({{"seed", "2"}}));
  const std::vector<OneOf> runs = {{.name = "one", .result = &verbs::fixtures::a_result()},
                                   {.name = "two", .result = &other, .measured = true}};
  const Figure curves = compared_distributions(runs);
  EXPECT_EQ(verbs::fixtures::count(curves.marks, "<path class=\"la\""),
            4);  // Three panels and the key.
  EXPECT_EQ(verbs::fixtures::count(curves.marks, "<path class=\"lb measured\""), 4);
  EXPECT_EQ(curves.rows.size(), 6U);
  const Figure lanes = compared_clock(runs);
  EXPECT_EQ(verbs::fixtures::count(lanes.marks, "<path class=\"la\""), 4);
}

TEST(Compare, WithoutSeriesThereIsNoClock) {
  verbs::RunResult run = verbs::fixtures::a_run();
  run.series.reset();
  const auto tree = verbs::result_tree(run);
  EXPECT_TRUE(compared_clock({{.name = "a", .result = &tree}}).marks.empty());
  EXPECT_FALSE(compared_distributions({{.name = "a", .result = &tree}}).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures

#include "report/chart/figure.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Figures, EachHasWordsATableAndMarks) {
  const auto all = all_figures(verbs::fixtures::a_result());
  EXPECT_THAT(all, SizeIs(worst_differs(verbs::fixtures::a_result()) ? 9 : 8));
  for (const Figure& figure : all) {
    EXPECT_FALSE(figure.title.empty()) << figure.id;
    EXPECT_FALSE(figure.description.empty()) << figure.id;
    EXPECT_FALSE(figure.caption.empty()) << figure.id;
    EXPECT_FALSE(figure.rows.empty()) << figure.id;
    for (const auto& row : figure.rows) {
      EXPECT_EQ(row.size(), figure.head.size()) << figure.id;
    }
    EXPECT_THAT(figure.marks, Not(HasSubstr("nan"))) << figure.id;
    EXPECT_THAT(figure.marks, Not(HasSubstr("inf"))) << figure.id;
    EXPECT_LT(figure.marks.size(), 200'000U) << figure.id;
  }
}

TEST(Figures, AFileOfItsOwnHasItsColours) {
  const Figure figure = distributions(verbs::fixtures::a_result());
  EXPECT_THAT(std::string(figure_style()), HasSubstr("--a:#0072b2"));
  EXPECT_THAT(inline_svg(figure), Not(HasSubstr("#0072b2")));
  EXPECT_THAT(inline_svg(figure), HasSubstr("aria-labelledby=\"distributions-t distributions-d\""));
}

// Renderers beside browsers know no variables, and pass over media queries: plain colours stand
// before those.
TEST(Figures, AFileOfItsOwnIsPlain) {
  for (const Figure& figure : all_figures(verbs::fixtures::a_result())) {
    const std::string svg = standalone_svg(figure);
    EXPECT_THAT(svg, Not(HasSubstr("var("))) << figure.id;
    EXPECT_LT(svg.find(".fig .page{fill:#ffffff}"), svg.find("@media")) << figure.id;
    EXPECT_THAT(svg, HasSubstr(".fig .page{fill:#ffffff}")) << figure.id;
    EXPECT_THAT(svg, HasSubstr(".fig .la{stroke:#0072b2}")) << figure.id;
    EXPECT_THAT(svg, HasSubstr(".fig .frame{fill:none;stroke:#8c959f}")) << figure.id;
  }
}

TEST(Figures, AResultWithoutSeriesHasNone) {
  verbs::RunResult run = verbs::fixtures::a_run();
  run.series.reset();
  run.mean_steps.reset();
  run.gpu_memory.reset();
  EXPECT_TRUE(all_figures(verbs::result_tree(run)).empty());
}

TEST(Figures, PathsLeadThroughTheTree) {
  EXPECT_GT(number_at(verbs::fixtures::a_result(), "summary.ttft_ms.p99"), 0.0);
  EXPECT_EQ(number_at(verbs::fixtures::a_result(), "summary.nothing.p99", 7.0), 7.0);
  EXPECT_TRUE(numbers_at(verbs::fixtures::a_result(), "summary").empty());
}

}  // namespace
}  // namespace ridgeline::report::figures

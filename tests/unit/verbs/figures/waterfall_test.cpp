#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(Waterfall, BeginsWithTheLongestTtft) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = waterfall(result);
  const auto* const worst = at_path(result, "series.requests.worst_ttft");
  ASSERT_NE(worst, nullptr);
  const double id = number_at(worst->items().front(), "id");
  EXPECT_EQ(figure.rows.front().front(), fmt::format("{}", id));
  EXPECT_EQ(number_at(worst->items().front(), "ttft_ms"), number_at(result, "summary.ttft_ms.max"));
  const double longest =
      number_at(at_path(result, "series.requests.worst_e2e")->items().front(), "e2e_ms");
  EXPECT_THAT(figure.description, ::testing::HasSubstr(significant(longest) + " ms"));
  EXPECT_GE(verbs::fixtures::count(figure.marks, "<rect class=\"fa\""), 24 + 1);  // And the key.
}

}  // namespace
}  // namespace ridgeline::report::figures

#include "report/finding.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Finding, SaysWhyATargetWasMissedAndWhen) {
  const auto result = verbs::result_tree(verbs::fixtures::a_run({{"slo.ttft", "1ms"}}));
  const std::string html = finding_html(result);
  EXPECT_THAT(html, HasSubstr("missed their targets: more requests ran at once"));
  EXPECT_THAT(html, HasSubstr("Worst second, from <span data-key=\"findings.worst.from_s\">"));
  EXPECT_THAT(html, HasSubstr("data-key=\"findings.whole.bottleneck_share\""));
}

TEST(Finding, NamesTheBusiestTimeWhereNoneWasMissed) {
  const auto result =
      verbs::result_tree(verbs::fixtures::a_run({{"slo.ttft", "100s"}, {"slo.tpot", "100s"}}));
  const std::string html = finding_html(result);
  EXPECT_THAT(html, HasSubstr("Busiest second, "));
  EXPECT_THAT(html, Not(HasSubstr("missed")));
}

TEST(Finding, AResultWithoutSeriesHasNone) {
  EXPECT_EQ(finding_html(document::Node()), "");
}

}  // namespace
}  // namespace ridgeline::report

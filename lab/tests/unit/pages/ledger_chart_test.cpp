#include "lab/pages/ledger/ledger_chart.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/tests/unit/pages/example_ledger.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

TEST(LedgerChart, RingsArePublishedAndLinesOurs) {
  const auto ledger = testing::example_ledger();
  const auto settled = testing::example_settlement(ledger);
  EXPECT_EQ(ledger_chart(settled.rows[0].claims[0]), "");
  const std::string svg = ledger_chart(settled.rows[0].claims[3]);
  EXPECT_THAT(svg, HasSubstr("<title>2: 3 published</title>"));
  // Two points of ours, the second at the top.
  EXPECT_THAT(svg, HasSubstr("<path d=\"M60.0 86.9L340.0 40.0\" class=\"s0\"/>"));
}

TEST(LedgerChart, WithoutDataOnlyWhatWasPublished) {
  const auto ledger = testing::example_ledger();
  const auto settled = studies::settle(ledger, {}, {}, {});
  const std::string svg = ledger_chart(settled.rows[0].claims[3]);
  EXPECT_THAT(svg, HasSubstr("<circle"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("<path")));
}

}  // namespace
}  // namespace ridgeline::report

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/tests/unit/pages/example_ledger.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LedgerHtml, PublishedBesideComputedAndNothingFromOutside) {
  const auto ledger = testing::example_ledger();
  const std::string page = ledger_html(testing::example_settlement(ledger));
  EXPECT_THAT(page, HasSubstr("a | b &lt; 2.0"));
  EXPECT_THAT(page, HasSubstr("<del>3.0</del> 3.5"));
  EXPECT_THAT(page, HasSubstr("<span class=\"st open unexpected\">open</span>"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

}  // namespace
}  // namespace ridgeline::report

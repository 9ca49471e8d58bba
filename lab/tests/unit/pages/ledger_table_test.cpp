#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/tests/unit/pages/example_ledger.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

TEST(LedgerTable, OneLineAClaimAndTheCounts) {
  const auto ledger = testing::example_ledger();
  const std::string text = ledger_table(testing::example_settlement(ledger), {});
  EXPECT_THAT(text, HasSubstr("A.1.2  other"));
  EXPECT_THAT(text, HasSubstr("skipped: needs measured runs"));
  EXPECT_THAT(text,
              HasSubstr("6 claims: 1 answered, 1 reproduced, 1 corrected, 2 open, 1 skipped; of 2 "
                        "printed table cells 1 are equal.\n"));
}

TEST(LedgerTable, CommandsAsTyped) {
  studies::Claim claim;
  EXPECT_EQ(typed_command(claim), "");
  claim.command = "step a && step b";
  EXPECT_EQ(typed_command(claim), "ridgeline step a && ridgeline step b");
}

}  // namespace
}  // namespace ridgeline::report

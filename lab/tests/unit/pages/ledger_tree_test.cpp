#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/tests/unit/pages/example_ledger.hpp"

namespace ridgeline::report {
namespace {

TEST(LedgerTree, CountsAndNamesSurprises) {
  const auto ledger = testing::example_ledger();
  const document::Node tree = ledger_tree(testing::example_settlement(ledger));
  EXPECT_EQ(tree.find("statuses")->find("open")->as_integer(), 2);
  EXPECT_EQ(tree.find("cells")->as_integer(), 2);
  EXPECT_EQ(tree.find("cells_equal")->as_integer(), 1);
  ASSERT_EQ(tree.find("unexpected")->items().size(), 1U);
  EXPECT_EQ(tree.find("unexpected")->items()[0].as_string(), "A.1.3");
  const auto& row = tree.find("rows")->items()[0];
  EXPECT_EQ(row.find("id")->as_string(), "A.1");
  const auto& claim = row.find("claims")->items()[1];
  EXPECT_EQ(claim.find("status")->as_string(), "corrected");
  EXPECT_EQ(claim.find("computed")->as_string(), "2.0");
  EXPECT_EQ(claim.find("needs")->items()[0].as_string(), "tables");
  EXPECT_EQ(claim.find("why")->as_string(), "a reason");
}

}  // namespace
}  // namespace ridgeline::report

#include "workload/traces/reading/row_ledger.hpp"

#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

void note_bad_row(RowLedger& ledger, int line) {
  ledger.errors().push_back(
      {.message = "found \"x\", expected a number", .where = {.file = "t.csv", .line = line}});
  ledger.bad_row();
}

TEST(RowLedger, KeepsProblemsWhereRowsAreNotSkipped) {
  RowLedger ledger(false);
  for (std::size_t row = 0; row + 1 < kMaxTraceProblems; ++row) {
    note_bad_row(ledger, static_cast<int>(row));
    EXPECT_TRUE(ledger.goes_on());
  }
  note_bad_row(ledger, 99);
  EXPECT_FALSE(ledger.goes_on()) << "no more problems are reported than these";
  EXPECT_EQ(ledger.errors().size(), kMaxTraceProblems);
  EXPECT_EQ(ledger.dropped(), 0);
  EXPECT_TRUE(ledger.warnings().empty());
}

TEST(RowLedger, CountsAllSkippedRowsAndListsTheFirst) {
  RowLedger ledger(true);
  EXPECT_TRUE(ledger.warnings().empty());
  note_bad_row(ledger, 7);
  ASSERT_EQ(ledger.warnings().size(), 2U);
  EXPECT_EQ(ledger.warnings()[0].code, "W-rows-dropped");
  EXPECT_EQ(ledger.warnings()[0].message, "1 bad row was dropped; the first problem of it:");
  EXPECT_EQ(ledger.warnings()[0].hint, "--skip-bad-rows");
  EXPECT_EQ(ledger.warnings()[1].code, "W-row-dropped");
  EXPECT_THAT(ledger.warnings()[1].message, testing::HasSubstr("expected a number"));
  EXPECT_THAT(ledger.warnings()[1].message, testing::HasSubstr("t.csv:7"));
  for (std::size_t row = 0; row < kMaxTraceProblems + 9; ++row) {
    note_bad_row(ledger, 8);
    EXPECT_TRUE(ledger.goes_on());
    EXPECT_TRUE(ledger.errors().empty()) << "the next row starts with none";
  }
  EXPECT_EQ(ledger.dropped(), 30);
  EXPECT_EQ(ledger.warnings().size(), 1 + kMaxTraceProblems);
  EXPECT_EQ(ledger.warnings()[0].message,
            "30 bad rows were dropped; the first problem of each of the first:");
}

}  // namespace
}  // namespace ridgeline::workload

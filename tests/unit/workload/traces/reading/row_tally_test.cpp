#include "workload/traces/reading/row_tally.hpp"

#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

void note_bad_row(RowTally& tally, int line) {
  tally.errors().push_back(
      {.message = "found \"x\", expected a number", .where = {.file = "t.csv", .line = line}});
  tally.bad_row();
}

TEST(RowTally, KeepsProblemsWhereRowsAreNotSkipped) {
  RowTally tally(false);
  for (std::size_t row = 0; row + 1 < kMaxTraceProblems; ++row) {
    note_bad_row(tally, static_cast<int>(row));
    EXPECT_TRUE(tally.goes_on());
  }
  note_bad_row(tally, 99);
  EXPECT_FALSE(tally.goes_on()) << "no more problems are reported than these";
  EXPECT_EQ(tally.errors().size(), kMaxTraceProblems);
  EXPECT_EQ(tally.dropped(), 0);
  EXPECT_TRUE(tally.warnings().empty());
}

TEST(RowTally, CountsAllSkippedRowsAndListsTheFirst) {
  RowTally tally(true);
  EXPECT_TRUE(tally.warnings().empty());
  note_bad_row(tally, 7);
  ASSERT_EQ(tally.warnings().size(), 2U);
  EXPECT_EQ(tally.warnings()[0].code, "W-rows-dropped");
  EXPECT_EQ(tally.warnings()[0].message, "1 bad row was dropped; the first problem of it:");
  EXPECT_EQ(tally.warnings()[0].hint, "--skip-bad-rows");
  EXPECT_EQ(tally.warnings()[1].code, "W-row-dropped");
  EXPECT_THAT(tally.warnings()[1].message, testing::HasSubstr("expected a number"));
  EXPECT_THAT(tally.warnings()[1].message, testing::HasSubstr("t.csv:7"));
  for (std::size_t row = 0; row < kMaxTraceProblems + 9; ++row) {
    note_bad_row(tally, 8);
    EXPECT_TRUE(tally.goes_on());
    EXPECT_TRUE(tally.errors().empty()) << "the next row starts with none";
  }
  EXPECT_EQ(tally.dropped(), 30);
  EXPECT_EQ(tally.warnings().size(), 1 + kMaxTraceProblems);
  EXPECT_EQ(tally.warnings()[0].message,
            "30 bad rows were dropped; the first problem of each of the first:");
}

}  // namespace
}  // namespace ridgeline::workload

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/workload/traces/trace_text.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";

/// The only problem of a text, as "line:column: field: message".
std::string only_problem(const std::string& text) {
  const auto errors = read_trace_text(text).errors;
  return errors.size() == 1 ? core::to_string(errors[0])
                            : std::to_string(errors.size()) + " problems";
}

TEST(AzureCsv, TimeCountsFromTheFirstRowInPicoseconds) {
  const auto text = read_trace_text(kHeader +
                                    "2023-11-16 18:15:46.6805900,374,44\r\n"
                                    "2023-11-16 18:15:50.9951690,396,109\r\n"
                                    "2023-11-16 18:15:50.9951690,1,1\r\n"
                                    "2023-11-17 00:00:00,879,55");
  EXPECT_EQ(text.format, "azure-llm-csv");
  EXPECT_THAT(text.errors, IsEmpty());
  ASSERT_THAT(text.rows, SizeIs(4));
  EXPECT_EQ(text.rows[0].arrival.count(), 0);
  EXPECT_EQ(text.rows[0].input_tokens.value(), 374);
  EXPECT_EQ(text.rows[0].output_tokens.value(), 44);
  // 50.9951690 - 46.6805900 = 4.3145790 s.
  EXPECT_EQ(text.rows[1].arrival.count(), 4'314'579'000'000);
  EXPECT_EQ(text.rows[2].arrival, text.rows[1].arrival);
  // From 18:15:46.68059 to midnight: 5 h 44 min 13.31941 s = 20653.31941 s.
  EXPECT_EQ(text.rows[3].arrival.count(), 20'653'319'410'000'000);
}

TEST(AzureCsv, CountsDaysThroughALeapYear) {
  const auto text = read_trace_text(kHeader +
                                    "2024-02-28 00:00:00.000,1,1\n"
                                    "2024-03-01 00:00:00.000000000001,1,1\n");
  ASSERT_THAT(text.rows, SizeIs(2));
  // The 29th exists: two days and a picosecond.
  EXPECT_EQ(text.rows[1].arrival.count(), 2 * 86'400 * core::Duration::kTicksPerSecond + 1);
}

TEST(AzureCsv, RefusesWhatIsNoTime) {
  for (const std::string time : {"2023-11-16",
                                 "2023-11-16 18:15",
                                 "2023-11-16 18:15:46.",
                                 "2023-11-16 18:15:46.68x",
                                 "2023-02-29 00:00:00",
                                 "2023-13-01 00:00:00",
                                 "2023-00-01 00:00:00",
                                 "2023-11-31 00:00:00",
                                 "2023-11-16 24:00:00",
                                 "2023-11-16 18:60:00",
                                 "2023-11-16 18:15:60",
                                 "2023-11-16 18:15:46,5",
                                 "-023-11-16 18:15:46",
                                 "12.5",
                                 "2023-11-16 18:15:46+0",
                                 "2023-11-16 18:15:46+24:00",
                                 "2023-11-16 18:15:46 CET"}) {
    const auto errors = read_trace_text(kHeader + time + ",1,1\n").errors;
    EXPECT_THAT(errors, ::testing::Not(IsEmpty())) << time;
  }
  EXPECT_EQ(
      only_problem(kHeader + "yesterday,1,1\n"),
      "t:2:1: TIMESTAMP: found \"yesterday\", expected a time as YYYY-MM-DD HH:MM:SS.fffffff");
}

TEST(AzureCsv, RefusesTimesPastTheRangeOfSimulatedTime) {
  EXPECT_EQ(
      only_problem(kHeader + "2023-01-01 00:00:00,1,1\n"
                             "2024-01-01 00:00:00,1,1\n"),
      "t:3:1: TIMESTAMP: found \"2024-01-01 00:00:00\", expected a time at most 9199999 s from the "
      "first row's");
  // The whole range of years, both ways.
  EXPECT_THAT(
      read_trace_text(kHeader + "0000-01-01 00:00:00,1,1\n9999-12-31 23:59:59,1,1\n").errors,
      SizeIs(1));
  EXPECT_THAT(
      read_trace_text(kHeader + "9999-12-31 23:59:59,1,1\n0000-01-01 00:00:00,1,1\n").errors,
      SizeIs(1));
}

TEST(AzureCsv, RefusesARowBeforeTheOneAboveIt) {
  EXPECT_EQ(only_problem(kHeader + "2023-11-16 18:15:46,1,1\n"
                                   "2023-11-16 18:15:45.5,1,1\n"),
            "t:3:1: TIMESTAMP: found an arrival at -0.5 s after one at 0 s, expected rows in the "
            "order of "
            "arrival");
}

TEST(AzureCsv, RefusesZeroTokens) {
  EXPECT_EQ(only_problem(kHeader + "2023-11-16 18:15:46,374,0\n"),
            "t:2:25: GeneratedTokens: found \"0\", expected a whole number of tokens from 1 to "
            "100000000");
}

TEST(AzureCsv, ColumnsMayStandInAnyOrder) {
  const auto text =
      read_trace_text("TIMESTAMP,GeneratedTokens,ContextTokens\n2023-11-16 18:15:46,7,90\n");
  ASSERT_THAT(text.rows, SizeIs(1));
  EXPECT_EQ(text.rows[0].input_tokens.value(), 90);
  EXPECT_EQ(text.rows[0].output_tokens.value(), 7);
}

TEST(AzureCsv, RefusesAHeaderThatLacksAColumn) {
  EXPECT_EQ(
      only_problem("TIMESTAMP,ContextTokens\n2023-11-16 18:15:46,1\n"),
      "t:1:1: GeneratedTokens: found no 'GeneratedTokens', expected TIMESTAMP, ContextTokens, "
      "GeneratedTokens");
}

// The form of the files of 2024: six decimals and an offset.
TEST(AzureCsv, ReadsZones) {
  const auto text = read_trace_text(kHeader +
                                    "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                                    "2024-05-10 02:00:01.009930+02:00,2399,6\n"
                                    "2024-05-10T00:00:02.009930Z,76,15\n");
  EXPECT_THAT(text.errors, IsEmpty());
  ASSERT_THAT(text.rows, SizeIs(3));
  EXPECT_EQ(text.rows[1].arrival, core::Duration::seconds(1));
  EXPECT_EQ(text.rows[2].arrival, core::Duration::seconds(2));
}

TEST(AzureCsv, RoundsWhatIsFinerThanAPicosecond) {
  const auto text = read_trace_text(kHeader +
                                    "2024-05-10 00:00:00,1,1\n"
                                    "2024-05-10 00:00:00.0000000000014,1,1\n"
                                    "2024-05-10 00:00:00.0000000000015,1,1\n");
  ASSERT_THAT(text.rows, SizeIs(3));
  EXPECT_EQ(text.rows[1].arrival.count(), 1);
  EXPECT_EQ(text.rows[2].arrival.count(), 2);
}

TEST(AzureCsv, ReadsTheNumberOfImages) {
  const auto text = read_trace_text(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-01-01 00:00:00,3,1000,20\n");
  EXPECT_EQ(text.format, "azure-lmm-csv");
  ASSERT_THAT(text.rows, SizeIs(1));
  EXPECT_EQ(text.rows[0].images, 3);
}

TEST(AzureCsv, RefusesACutRow) {
  EXPECT_EQ(only_problem(kHeader + "2023-11-16 18:15:46,1,1\n2023-11-16 18:1"),
            "t:3:1: ContextTokens: found 1 column (\"2023-11-16 18:1\"), expected 3 columns");
}

}  // namespace
}  // namespace ridgeline::workload

#include "workload/traces/reading/trace_reader.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kCsvHeader = "arrival_s,input_tokens,output_tokens\n";

/// The message of the only problem.
std::string only_message(const std::string& text, LineLimits limits = {}) {
  const auto errors = read_trace_text(text, limits).errors;
  return errors.size() == 1 ? core::to_string(errors[0])
                            : std::to_string(errors.size()) + " problems";
}

TEST(TraceFormats, HaveNamesOfTheirOwnAndASummary) {
  std::set<std::string_view> names;
  for (const auto* format : trace_formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_FALSE(format->summary.empty());
    EXPECT_NE(format->make_parser == nullptr, format->open_document == nullptr) << format->name;
  }
}

TEST(TraceReader, RefusesAnEmptyFile) {
  EXPECT_THAT(only_message(""), StartsWith("t: the file is empty, expected one of azure-llm-csv"));
  EXPECT_THAT(only_message("\xEF\xBB\xBF"), StartsWith("t: the file is empty"));
}

TEST(TraceReader, RefusesAFileWithOnlyAHeader) {
  EXPECT_EQ(only_message(kCsvHeader),
            "t:2:1: the file ends after its header, expected at least one row");
  EXPECT_EQ(only_message("TIMESTAMP,ContextTokens,GeneratedTokens"),
            "t:2:1: the file ends after its header, expected at least one row");
}

TEST(TraceReader, RefusesUnknownFormats) {
  for (const std::string text :
       {"0.1,5,7\n", "[1]\n", "\n\n", "\x1F\x8B\x09", "words\n", "%PDF-1.4\n"}) {
    EXPECT_THAT(only_message(text), HasSubstr("which is no known format")) << text;
  }
  EXPECT_THAT(only_message("0.1,5,7\n"), StartsWith("t:1:1: found \"0.1,5,7\" at the start"));
}

TEST(TraceReader, NamesTheKeysOfUnknownDocuments) {
  EXPECT_THAT(
      only_message("{\n  \"mean\": {\"min\": 1},\n  \"turns\": 5\n}\n"),
      StartsWith("t:1:1: found a JSON document with \"mean\", \"turns\" at the start, which "
                 "is no known format; expected one of azure-llm-csv"));
  EXPECT_THAT(only_message("{\n"), StartsWith("t:1:1: found \"{\" at the start, which is no"));
}

TEST(TraceReader, RefusesALineWithoutEnd) {
  EXPECT_THAT(only_message(kCsvHeader + std::string(300, '1'), limits_of(64)),
              "t:2:1: found a line longer than 64 bytes, expected a row");
  EXPECT_THAT(only_message("a," + std::string(300, 'b'), limits_of(64)),
              "t:1:1: the first line cannot be read, expected a header");
}

TEST(TraceReader, GoesOnAfterABadRow) {
  const auto text = read_trace_text(kCsvHeader + "0,1,1\nx,1,1\n2,1,1\ny,1,1\n");
  EXPECT_THAT(text.rows, SizeIs(2));
  ASSERT_THAT(text.errors, SizeIs(2));
  EXPECT_EQ(text.errors[0].where.line, 3);
  EXPECT_EQ(text.errors[1].where.line, 5);
}

TEST(TraceReader, StopsAfterTwentyProblems) {
  std::string text = kCsvHeader;
  for (int i = 0; i < 1000; ++i) {
    text += "x,1,1\n";
  }
  EXPECT_THAT(read_trace_text(text + "0,1,1\n").errors, SizeIs(20));
  EXPECT_THAT(read_trace_text(text + "0,1,1\n").rows, SizeIs(0));
}

TEST(TraceReader, AHeaderOfManyUnknownNamesIsReportedTwentyTimes) {
  std::string header = "x";
  for (int i = 0; i < 10'000; ++i) {
    header += ",x";
  }
  EXPECT_THAT(read_trace_text(header + "\n").errors, SizeIs(20));
}

TEST(TraceReader, RowsDoNotDependOnTheBlock) {
  std::string text = kCsvHeader;
  for (int i = 0; i < 1000; ++i) {
    text += std::to_string(i) + ".25," + std::to_string(i + 1) + ",7\n";
  }
  const auto small = read_trace_text(text, limits_of(64));
  const auto large = read_trace_text(text);
  ASSERT_THAT(small.rows, SizeIs(1000));
  ASSERT_THAT(large.rows, SizeIs(1000));
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(small.rows[i].arrival, large.rows[i].arrival);
    EXPECT_EQ(small.rows[i].input_tokens, large.rows[i].input_tokens);
  }
}

TEST(TraceReader, RefusesWhatIsNoRegularFile) {
  const auto missing = TraceReader::open("/nonexistent/trace.csv");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(core::to_string(missing.error().at(0)),
            "/nonexistent/trace.csv: no such file, expected a trace");
  for (const std::string path : {"/dev", "/dev/zero"}) {
    const auto opened = TraceReader::open(path);
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error(),
                ElementsAre(::testing::Field(&core::Error::message,
                                             "not a regular file, expected a trace")));
  }
}

}  // namespace
}  // namespace ridgeline::workload

#include "lab/records/request_log.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

using ::testing::HasSubstr;

/// A folder of records with one log in it.
std::filesystem::path log_folder(const std::string& text) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "request_log";
  std::filesystem::create_directories(folder / "below");
  std::ofstream(folder / "below" / "log.csv") << text;
  return folder;
}

struct Read {
  std::vector<StageLoad::Row> rows;
  std::vector<std::string> notes;
  std::string problem;
};
Read read_log(const std::string& text, const std::string& run, const std::string& phase) {
  RequestLogs logs(log_folder(text));
  Read read;
  auto rows = logs.read("below/log.csv", run, phase, read.notes);
  if (rows) {
    read.rows = std::move(*rows);
  } else {
    read.problem = rows.error().front().message;
  }
  return read;
}

TEST(RequestLog, TakesOnePhaseOfOneRunInOrderOfArrival) {
  const auto read = read_log(
      "status,exp,phase,arrival_s,input_tokens,output_tokens\n"
      "ok,a,1,2.5,100,10\n"
      "ok,a,1,0.5,200,20\n"
      "failed,a,1,0.7,1,1\n"
      "ok,b,1,0.1,1,1\n"
      "ok,a,2,0.1,1,1",
      "a",
      "1");
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0].arrival_s, 0.5);
  EXPECT_EQ(read.rows[0].input_tokens, 200);
  EXPECT_EQ(read.rows[1].output_tokens, 10);
  EXPECT_TRUE(read.notes.empty());
}

// Byte order mark, CRLF, quoted cells, "successful", and no run or phase: as spreadsheets save it.
TEST(RequestLog, TakesWhatSpreadsheetsWrite) {
  const auto read = read_log(
      "\xEF\xBB\xBF\"arrival_s\",\"input_tokens\",\"output_tokens\",\"status\"\r\n"
      "\"1.5\",\"100\",\"10\",\"successful\"\r\n"
      "0.5,200,20,Success\r\n"
      "0.7,1,1,error\r\n",
      "a",
      "1");
  ASSERT_EQ(read.problem, "");
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0].input_tokens, 200);
  EXPECT_EQ(read.rows[1].arrival_s, 1.5);
}

TEST(RequestLog, NamesABadRowAndReadsTheOthers) {
  const std::string header = "exp,phase,arrival_s,input_tokens,output_tokens\n";
  for (const std::string bad : {"a,1,soon,1,1",
                                "a,1,0,0,1",
                                "a,1,-1,1,1",
                                "a,1,9300000,1,1",  // 107 days, past the range of simulated time
                                "a,1,0,1e308,1",
                                "a,1,0"}) {
    const auto read = read_log(header + "a,1,0,5,5\n" + bad + "\na,1,1,6,6\n", "a", "1");
    EXPECT_EQ(read.rows.size(), 2U) << bad;
    ASSERT_EQ(read.notes.size(), 1U) << bad;
    EXPECT_THAT(read.notes.front(), HasSubstr("1 row of below/log.csv: line 3")) << bad;
  }
}

TEST(RequestLog, SaysWhatIsWrong) {
  const auto problem = [](const std::string& text) { return read_log(text, "a", "1").problem; };
  const std::string header = "exp,phase,arrival_s,input_tokens,output_tokens\n";
  EXPECT_THAT(problem("exp,phase,arrival_s,input_tokens\n"), HasSubstr("column output_tokens"));
  EXPECT_THAT(problem(header + "a,1,soon,1,1\n"), HasSubstr("line 2: arrival_s is \"soon\""));
  EXPECT_THAT(problem(header), HasSubstr("no request of phase 1"));
  EXPECT_THAT(problem(""), HasSubstr("column arrival_s"));
}

TEST(RequestLog, OpensRegularFilesOfItsFolderAlone) {
  const auto folder = log_folder("x");
  std::filesystem::remove(folder / "out");
  std::filesystem::create_symlink("/etc/passwd", folder / "out");
  RequestLogs logs(folder);
  const auto problem = [&](const std::string& name) {
    std::vector<std::string> notes;
    const auto rows = logs.read(name, "a", "1", notes);
    return rows ? std::string("none") : rows.error().front().message;
  };
  EXPECT_THAT(problem("/etc/passwd"), HasSubstr("outside the records' folder"));
  EXPECT_THAT(problem("../../etc/passwd"), HasSubstr("outside the records' folder"));
  EXPECT_THAT(problem("out"), HasSubstr("outside the records' folder"));
  EXPECT_THAT(problem("below"), HasSubstr("no regular file"));
  EXPECT_THAT(problem("missing.csv"), HasSubstr("no such file"));
  EXPECT_THAT(problem(std::string("below/log.csv\0.txt", 18)), HasSubstr("no name of a file"));
  EXPECT_THAT(problem(""), HasSubstr("no name of a file"));
}

}  // namespace
}  // namespace ridgeline::records

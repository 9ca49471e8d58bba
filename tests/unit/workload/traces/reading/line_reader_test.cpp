#include "workload/traces/reading/line_reader.hpp"

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Status = LineReader::Status;

std::vector<std::string> lines_of(const std::string& text, std::size_t block = 16) {
  LineReader reader(make_plain_input(std::make_unique<std::istringstream>(text)),
                    {.block_bytes = block, .line_bytes = block});
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line) == Status::kLine) {
    lines.emplace_back(line);
  }
  return lines;
}

TEST(LineReader, SplitsAtLfAndCrlf) {
  EXPECT_THAT(lines_of("a\r\nbc\n\nd\n"), ElementsAre("a", "bc", "", "d"));
}

TEST(LineReader, LastLineNeedsNoEnd) {
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
}

TEST(LineReader, EmptyTextHasNoLine) {
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(LineReader, SkipsAByteOrderMark) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                       "a\nb\n"),
              ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\n\xEF\xBB\xBF"
                       "b\n"),
              ElementsAre("a",
                          "\xEF\xBB\xBF"
                          "b"));
}

TEST(LineReader, LinesCrossBlocks) {
  std::string text;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 200; ++i) {
    expected.push_back(std::string(i % 15, 'x'));
    text += expected.back() + "\n";
  }
  // The longest line, 14 bytes, and its end fit in 16; the text is some hundred blocks long.
  EXPECT_EQ(lines_of(text, 16), expected);
}

TEST(LineReader, ALineLongerThanTheBlockIsNotRead) {
  LineReader reader(make_plain_input(std::make_unique<std::istringstream>(
                        "ab\n" + std::string(16, 'x') + "\nc\n")),
                    {.block_bytes = 16, .line_bytes = 16});
  std::string_view line;
  EXPECT_EQ(reader.next(line), Status::kLine);
  EXPECT_EQ(reader.next(line), Status::kTooLong);
  EXPECT_EQ(reader.number(), 1);
}

TEST(LineReader, TheBufferGrowsToTheLongestLine) {
  LineReader reader(make_plain_input(std::make_unique<std::istringstream>(
                        "ab\n" + std::string(100, 'x') + "\nc\n")),
                    {.block_bytes = 16, .line_bytes = 101});
  std::string_view line;
  EXPECT_EQ(reader.next(line), Status::kLine);
  EXPECT_EQ(reader.next(line), Status::kLine);
  EXPECT_EQ(line, std::string(100, 'x'));
  EXPECT_EQ(reader.next(line), Status::kLine);
  EXPECT_EQ(line, "c");
}

TEST(LineReader, CountsLinesFromOne) {
  LineReader reader(make_plain_input(std::make_unique<std::istringstream>("a\nb")));
  std::string_view line;
  EXPECT_EQ(reader.head(), "a\nb");
  EXPECT_EQ(reader.number(), 0);
  reader.next(line);
  EXPECT_EQ(reader.number(), 1);
  reader.next(line);
  EXPECT_EQ(reader.number(), 2);
  EXPECT_EQ(reader.next(line), Status::kEnd);
  EXPECT_EQ(reader.number(), 2);
}

TEST(LineReader, ABrokenStreamIsAReadError) {
  auto stream = std::make_unique<std::istringstream>("a\n");
  stream->setstate(std::ios::badbit);
  LineReader reader(make_plain_input(std::move(stream)));
  std::string_view line;
  EXPECT_EQ(reader.next(line), Status::kReadError);
}

}  // namespace
}  // namespace ridgeline::workload

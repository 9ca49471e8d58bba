#include "workload/traces/reading/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::HasSubstr;

/// The ticks that a text of seconds reads as, or the message of its problem.
std::string seconds(const std::string& text) {
  const std::string file = "t";
  core::Errors errors;
  core::Duration time;
  const TraceLine line(text, file, 1, errors);
  return read_seconds(line, "arrival_s", text, time) ? std::to_string(time.count())
                                                     : errors.at(0).message;
}

std::string tokens(const std::string& text) {
  const std::string file = "t";
  core::Errors errors;
  core::Tokens count;
  const TraceLine line(text, file, 1, errors);
  return read_tokens(line, "input_tokens", text, count) ? std::to_string(count.value())
                                                        : errors.at(0).message;
}

TEST(ReadSeconds, IsExactToThePicosecond) {
  EXPECT_EQ(seconds("0"), "0");
  EXPECT_EQ(seconds("0.1"), "100000000000");
  EXPECT_EQ(seconds("0.000000000001"), "1");
  EXPECT_EQ(seconds("12.5"), "12500000000000");
  EXPECT_EQ(seconds("007.25"), "7250000000000");
  // Not a double: its neighbours are 1.8e-9 s apart here.
  EXPECT_EQ(seconds("9199999.999999999999"), "9199999999999999999");
  EXPECT_EQ(seconds("9200000"), "9200000000000000000");
  EXPECT_EQ(seconds("9200000.000000000000"), "9200000000000000000");
}

TEST(ReadSeconds, TakesExponents) {
  EXPECT_EQ(seconds("5e-05"), "50000000");
  EXPECT_EQ(seconds("1E-12"), "1");
  EXPECT_EQ(seconds("1.5e3"), "1500000000000000");
  EXPECT_EQ(seconds("0e999999999999"), "0");
  EXPECT_EQ(seconds("15e-1"), "1500000000000");
}

TEST(ReadSeconds, TrailingZerosAreNoFinerThanATick) {
  EXPECT_EQ(seconds("0.1000000000000"), "100000000000");
}

TEST(ReadSeconds, RoundsWhatIsFinerThanATick) {
  EXPECT_EQ(seconds("0.0000000000004"), "0");
  EXPECT_EQ(seconds("0.0000000000005"), "1");
  EXPECT_EQ(seconds("1e-13"), "0");
  EXPECT_EQ(seconds("1e-999999999999"), "0");
  EXPECT_EQ(seconds("0.1234567890123456789012345"), "123456789012");
  EXPECT_EQ(seconds("0.1234567890125456789012345"), "123456789013");
  // Python writes such numbers: 1 / 3 and 2 / 3.
  EXPECT_EQ(seconds("0.3333333333333333"), "333333333333");
  EXPECT_EQ(seconds("0.6666666666666666"), "666666666667");
}

TEST(ReadSeconds, RefusesWhatIsOutOfRange) {
  EXPECT_THAT(seconds("9200000.000000000001"), HasSubstr("expected at most 9200000 seconds"));
  EXPECT_THAT(seconds("99999999999999999999999"), HasSubstr("expected at most 9200000 seconds"));
  EXPECT_THAT(seconds("1e300"), HasSubstr("expected at most 9200000 seconds"));
  EXPECT_THAT(seconds("-1"), HasSubstr("found \"-1\", expected a number of seconds that is not"));
}

TEST(ReadSeconds, RefusesWhatIsNotANumber) {
  for (const std::string text : {"abc",
                                 ".5",
                                 "5.",
                                 "1.2.3",
                                 "1,5",
                                 "0x10",
                                 "nan",
                                 "inf",
                                 "--1",
                                 "+1",
                                 "1e",
                                 "1e+",
                                 "1 ",
                                 " 1",
                                 "-",
                                 "-x"}) {
    EXPECT_THAT(seconds(text), HasSubstr("expected a number of seconds such as")) << text;
  }
  EXPECT_THAT(seconds(""), HasSubstr("found an empty cell"));
}

TEST(ReadTokens, TakesWholeNumbersInRange) {
  EXPECT_EQ(tokens("1"), "1");
  EXPECT_EQ(tokens("100000000"), "100000000");
}

TEST(ReadTokens, RefusesTheRest) {
  for (const std::string text : {"0",
                                 "-5",
                                 "+5",
                                 "5.",
                                 "5.01",
                                 "1e3",
                                 "five",
                                 "100000001",
                                 "1000000000000",
                                 "99999999999999999999",
                                 " 5",
                                 "5x"}) {
    EXPECT_THAT(tokens(text),
                HasSubstr("found \"" + text +
                          "\", expected a whole number of tokens from 1 to "
                          "100000000"));
  }
  EXPECT_THAT(tokens(""), HasSubstr("found an empty cell"));
}

TEST(SecondsText, IsExact) {
  EXPECT_EQ(seconds_text(core::Duration()), "0");
  EXPECT_EQ(seconds_text(core::Duration::ticks(1)), "0.000000000001");
  EXPECT_EQ(seconds_text(core::Duration::milliseconds(12'500)), "12.5");
  EXPECT_EQ(seconds_text(core::Duration::milliseconds(-500)), "-0.5");
  EXPECT_EQ(seconds_text(core::Duration::milliseconds(-12'500)), "-12.5");
}

TEST(TraceLine, NotesNoMoreThanTheLimit) {
  const std::string text = "x";
  const std::string file = "t";
  core::Errors errors;
  const TraceLine line(text, file, 7, errors);
  for (std::size_t i = 0; i < kMaxTraceProblems + 5; ++i) {
    line.problem("", line.text(), "this", "that");
  }
  ASSERT_EQ(errors.size(), kMaxTraceProblems);
  EXPECT_EQ(errors[0].message, "found this, expected that");
  EXPECT_EQ(errors[0].where.line, 7);
  EXPECT_EQ(errors[0].where.column, 1);
}

}  // namespace
}  // namespace ridgeline::workload

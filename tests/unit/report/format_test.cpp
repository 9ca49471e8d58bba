#include "report/format.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

TEST(Grouped, SetsThousandsApart) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(43200), "43 200");
  EXPECT_EQ(grouped(-1234567), "-1 234 567");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9 223 372 036 854 775 808");
}

TEST(Significant, KeepsThreeOrFourDigits) {
  EXPECT_EQ(significant(0.0), "0");
  EXPECT_EQ(significant(0.4123), "0.412");
  EXPECT_EQ(significant(6.84), "6.84");
  EXPECT_EQ(significant(24.12), "24.1");
  EXPECT_EQ(significant(182.4), "182");
  EXPECT_EQ(significant(2104.0), "2 104");
  EXPECT_EQ(significant(-24.12), "-24.1");
}

TEST(Significant, RoundsUpAcrossTheBorders) {
  // 9.996 to two decimals would be 10.00, 99.96 to one 100.0, 999.7 to none 1000.
  EXPECT_EQ(significant(9.996), "10.0");
  EXPECT_EQ(significant(99.96), "100");
  EXPECT_EQ(significant(999.7), "1 000");
  EXPECT_EQ(significant(0.9996), "1.00");
}

TEST(Significant, HandlesTheVerySmallTheVeryLargeAndWhatIsNoNumber) {
  EXPECT_EQ(significant(0.0123), "0.0123");
  EXPECT_EQ(significant(1.234e-7), "1.23e-07");
  EXPECT_EQ(significant(1e18), "1e+18");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(significant(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(Percent, ShowsOneDecimal) {
  EXPECT_EQ(percent(0.978), "97.8 %");
  EXPECT_EQ(percent(0.0), "0 %");
  EXPECT_EQ(percent(1.0), "100 %");
  EXPECT_EQ(percent(0.0001), "<0.1 %");
  EXPECT_EQ(percent(0.9999), "100 %");
}

TEST(HumanDuration, GrowsItsUnits) {
  EXPECT_EQ(human_duration(0.41), "0.41 s");
  EXPECT_EQ(human_duration(12.34), "12.3 s");
  EXPECT_EQ(human_duration(245.0), "4 m 05 s");
  EXPECT_EQ(human_duration(3600.0), "1 h 00 m");
  // 26 h 31 m is 1 day, 2 hours and more than half an hour.
  EXPECT_EQ(human_duration(26.0 * 3600.0 + 31.0 * 60.0), "1 d 03 h");
}

TEST(HumanDuration, CarriesWhenItRoundsUp) {
  EXPECT_EQ(human_duration(59.97), "1 m 00 s");
  EXPECT_EQ(human_duration(3599.7), "1 h 00 m");
  EXPECT_EQ(human_duration(86399.0), "1 d 00 h");
}

TEST(HumanDuration, RefusesWhatIsNoDuration) {
  EXPECT_EQ(human_duration(-1.0), "?");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::infinity()), "?");
}

TEST(TimeUnit, FollowsTheTypicalValue) {
  EXPECT_STREQ(time_unit(0.5).name, "us");
  EXPECT_STREQ(time_unit(1.0).name, "ms");
  EXPECT_STREQ(time_unit(999.0).name, "ms");
  EXPECT_STREQ(time_unit(1000.0).name, "s");
  EXPECT_DOUBLE_EQ(6840.0 * time_unit(6840.0).per_ms, 6.84);
  EXPECT_DOUBLE_EQ(0.5 * time_unit(0.5).per_ms, 500.0);
}

TEST(Padding, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width("\u2264 1"), 3U);
  EXPECT_EQ(pad_left("\u2013", 3), "  \u2013");
  EXPECT_EQ(pad_right("ab", 4), "ab  ");
  EXPECT_EQ(pad_left("abcde", 3), "abcde");
}

TEST(Printable, TakesControlCharactersOut) {
  EXPECT_EQ(printable("a\x1b[31mb\n", false), "a?[31mb?");
  EXPECT_EQ(printable("\u00e9", false), "\u00e9");
  EXPECT_EQ(printable("caf\u00e9 \u2264", true), "caf? <=");
  // U+009B is an escape sequence's start in one character.
  EXPECT_EQ(printable("a\u009b31m", false), "a?31m");
  EXPECT_EQ(printable("a\u009b31m", true), "a?31m");
  // Bytes that are no UTF-8: alone, and as the start of a character that does not come.
  EXPECT_EQ(printable("a\x9b\xe2\x89z", false), "a???z");
  EXPECT_EQ(printable("a\x9b\xe2\x89z", true), "a???z");
}

TEST(Shortened, CutsTheMiddleOut) {
  EXPECT_EQ(shortened("abcdefghij", 10, true), "abcdefghij");
  // 7 columns: 2 for the mark, 3 of the front, 2 of the end.
  EXPECT_EQ(shortened("abcdefghij", 7, true), "abc..ij");
  EXPECT_EQ(shortened("abcdefghij", 7, false), "abc\u2026hij");
  EXPECT_EQ(shortened("abcdefghij", 2, true), "..");
  EXPECT_EQ(shortened("abcdefghij", 0, true), "");
  EXPECT_EQ(display_width(shortened("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 4, false)), 4U);
}

}  // namespace
}  // namespace ridgeline::report

#include "workload/traces/reading/quick_row.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/quick_four.hpp"
#include "workload/traces/reading/quick_number.hpp"
#include "workload/traces/reading/quick_scan.hpp"

namespace ridgeline::workload {
namespace {

std::string with_slack(const std::string& text) {
  return text + std::string(kQuickSlack, ' ');
}

QuickNumber number_of(const std::string& text) {
  return quick_number(with_slack(text).data());
}

/// How many bytes read_quick() took; -1 for none.
std::ptrdiff_t taken(const QuickValue& value, const std::string& text, Item& item) {
  const std::string memory = with_slack(text);
  const char* const end = read_quick(value, memory.data(), memory.data() + text.size(), item);
  return end == nullptr ? -1 : end - memory.data();
}

TEST(QuickNumber, ReadsDigitsOfEveryLength) {
  std::string text;
  std::int64_t expected = 0;
  for (int digit = 1; digit <= 15; ++digit) {
    text += static_cast<char>('0' + digit % 10);
    expected = expected * 10 + digit % 10;
    const QuickNumber number = number_of(text + ",");
    EXPECT_EQ(number.digits, expected) << text;
    EXPECT_EQ(number.size, text.size());
    EXPECT_EQ(number.decimals, 0);
  }
  EXPECT_EQ(number_of("1234567890123456").size, 0U);
}

TEST(QuickNumber, ReadsDecimals) {
  const QuickNumber number = number_of("12345678.0098700]");
  EXPECT_EQ(number.digits, 123456780098700);
  EXPECT_EQ(number.decimals, 7);
  EXPECT_EQ(number.size, 16U);
}

TEST(QuickNumber, DeclinesWhatIsNoPlainNumber) {
  // Eighteen digits are the most: 11 + 8 are too many, and so are 8 behind the point.
  for (const char* text :
       {"", "-1", ".5", "5.", "5.x", "x", "1.23456789", "123456789012.1234567"}) {
    EXPECT_EQ(number_of(text).size, 0U) << text;
  }
}

TEST(QuickCount, ReadsOneToSevenDigits) {
  for (const std::string text : {"0", "7", "12", "9999999"}) {
    const std::string memory = with_slack(text);
    const char* at = memory.data();
    EXPECT_EQ(quick_count(at), std::stoll(text));
    EXPECT_EQ(at, memory.data() + text.size());
  }
  for (const std::string text : {"", "-1", "12345678"}) {
    const std::string memory = with_slack(text);
    const char* at = memory.data();
    EXPECT_EQ(quick_count(at), -1);
    EXPECT_EQ(at, memory.data());
  }
}

TEST(QuickRow, ReadsTimesToThePicosecond) {
  Item item;
  // 12.5 ms = 12.5e-3 / 1e-12 ticks.
  EXPECT_EQ(taken({.kind = QuickKind::kArrival, .unit = kMillisecondsUnit}, "12.5,", item), 4);
  EXPECT_EQ(item.arrival, core::Duration::ticks(12'500'000'000));
  EXPECT_EQ(taken({.kind = QuickKind::kArrival, .unit = kNanosecondsUnit}, "1.001}", item), 5);
  EXPECT_EQ(item.arrival, core::Duration::ticks(1001));
  // A ten-thousandth of a nanosecond is finer than a tick, and 9 200 001 s lie beyond the latest.
  EXPECT_EQ(taken({.kind = QuickKind::kArrival, .unit = kNanosecondsUnit}, "1.0001}", item), -1);
  EXPECT_EQ(taken({.kind = QuickKind::kArrival}, "9200000,", item), 7);
  EXPECT_EQ(taken({.kind = QuickKind::kArrival}, "9200001,", item), -1);
}

TEST(QuickRow, ReadsCountsFromOne) {
  Item item;
  EXPECT_EQ(taken({.kind = QuickKind::kInputTokens}, "374,", item), 3);
  EXPECT_EQ(item.input_tokens.value(), 374);
  EXPECT_EQ(taken({.kind = QuickKind::kOutputTokens}, "1\n", item), 1);
  EXPECT_EQ(item.output_tokens.value(), 1);
  EXPECT_EQ(taken({.kind = QuickKind::kOutputTokens}, "0\n", item), -1);
}

TEST(QuickRow, ReadsBlockIds) {
  Item item;
  EXPECT_EQ(taken({.kind = QuickKind::kBlockIds}, "[0, 46,123456789]}", item), 17);
  ASSERT_EQ(item.prompt.size(), 3U);
  EXPECT_EQ(item.prompt[1].content, 46U);
  EXPECT_EQ(item.prompt[2].content, 123456789U);
  for (const char* text : {"46]", "[046]", "[1,]", "[1 ,2]", "[1.5]", "[-1]", "[1"}) {
    EXPECT_EQ(taken({.kind = QuickKind::kBlockIds}, text, item), -1) << text;
  }
}

TEST(QuickRow, ReadsManyBlockIds) {
  // More than are read at once, of every number of digits up to eight, and one of nine.
  for (const bool with_long : {false, true}) {
    std::string text = "[";
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < 150; ++i) {
      ids.push_back(i == 70 && with_long ? 123'456'789 : i * i * i * i % 99'999'989);
      text += (i > 0 ? ", " : "") + std::to_string(ids.back());
    }
    Item item;
    EXPECT_EQ(taken({.kind = QuickKind::kBlockIds}, text + "]}", item),
              static_cast<std::ptrdiff_t>(text.size() + 1));
    ASSERT_EQ(item.prompt.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(item.prompt[i].content, ids[i]);
      EXPECT_EQ(item.prompt[i].length.value(), 512);
    }
  }
}

TEST(FourNumbers, AreReadSideBySide) {
  const std::string memory = with_slack("7,1234,99999999,05,12a4");
  const auto text = [&memory](std::size_t begin, std::size_t size) {
    return as_last_digits(memory.data() + begin, size);
  };
  const FourNumbers numbers({text(0, 1), text(2, 4), text(7, 8), text(16, 2)});
  EXPECT_TRUE(numbers.sound());
  EXPECT_EQ(numbers[0], 7);
  EXPECT_EQ(numbers[1], 1234);
  EXPECT_EQ(numbers[2], 99'999'999);
  EXPECT_EQ(numbers[3], 5);
  // A byte that is no digit, in each of them.
  for (std::size_t i = 0; i < 4; ++i) {
    std::array<std::uint64_t, 4> texts = {text(0, 1), text(0, 1), text(0, 1), text(0, 1)};
    texts[i] = text(19, 4);
    EXPECT_FALSE(FourNumbers(texts).sound()) << i;
    texts[i] = text(0, 2);
    EXPECT_FALSE(FourNumbers(texts).sound()) << i;
  }
}

TEST(QuickScan, FindsEveryPlaceOfTwoBytes) {
  std::string text(kScanSize, 'x');
  text[0] = ',';
  text[15] = '\n';
  text[16] = ',';
  text[31] = '\n';
  EXPECT_EQ(scan_for(text.data(), ',', '\n'), 0x80018001U);
  EXPECT_EQ(scan_for(text.data(), '\n'), 0x80008000U);
  EXPECT_EQ(scan_for(text.data(), ';', '\r'), 0U);
}

TEST(QuickTime, IsFoundWithItsDigits) {
  for (const std::string text : {"", ".5", "12345678", "1.12345678", "x", "5."}) {
    QuickTime time;
    EXPECT_EQ(find_quick_time(with_slack(text).data(), time), nullptr) << text;
  }
  const std::string memory = with_slack("1234567.0098700,");
  QuickTime time;
  EXPECT_EQ(find_quick_time(memory.data(), time), memory.data() + 15);
  const FourNumbers numbers({time.whole, time.decimals, 0, 0});
  EXPECT_EQ(numbers[0], 1'234'567);
  EXPECT_EQ(numbers[1], 98'700);
  EXPECT_EQ(time.decimal_count, 7U);
}

TEST(QuickTicks, AreExactAndInRange) {
  core::Duration time;
  // 12.5 ms; the latest time is 9 200 000 s, itself for the long way; a tick has twelve decimals.
  EXPECT_TRUE(quick_ticks(3, 12, 5, 1, time));
  EXPECT_EQ(time, core::Duration::ticks(12'500'000'000));
  EXPECT_TRUE(quick_ticks(0, 9'199'999, 9'999'999, 7, time));
  EXPECT_EQ(time, core::Duration::ticks(9'199'999'999'999'900'000));
  EXPECT_FALSE(quick_ticks(0, 9'200'000, 0, 0, time));
  EXPECT_FALSE(quick_ticks(9, 1, 1, 4, time));
}

TEST(QuickRow, ReadsNothingBehindTheEnd) {
  Item item;
  const std::string memory = with_slack("12");
  EXPECT_EQ(read_quick({.kind = QuickKind::kInputTokens}, memory.data(), memory.data(), item),
            nullptr);
}

}  // namespace
}  // namespace ridgeline::workload

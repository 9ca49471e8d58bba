#include "core/text.hpp"

#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/characters.hpp"

namespace ridgeline::core {
namespace {

TEST(LowerCase, ChangesLettersOfAsciiAlone) {
  EXPECT_EQ(lower_case("H100-SXM \xC3\x84"), "h100-sxm \xC3\x84");
}

TEST(CsvCell, IsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_cell("plain text"), "plain text");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
}

TEST(ValidUtf8Prefix, TakesEveryLengthOfSequence) {
  // One to four bytes: a, é, €, 😀.
  const std::string_view text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(valid_utf8_prefix(text), 1U + 2U + 3U + 4U);
  EXPECT_EQ(valid_utf8_prefix(""), 0U);
}

TEST(ValidUtf8Prefix, StopsAtWhatUnicodeForbids) {
  for (const std::string_view bad : {
           "\x80",              // a continuation that continues nothing
           "\xC0\xAF",          // overlong '/'
           "\xC1\xBF",          // overlong
           "\xE0\x9F\xBF",      // overlong, three bytes
           "\xED\xA0\x80",      // the surrogate U+D800
           "\xF0\x8F\xBF\xBF",  // overlong, four bytes
           "\xF4\x90\x80\x80",  // beyond U+10FFFF
           "\xF5\x80\x80\x80",  // beyond U+10FFFF
           "\xFF",
           "\xE2\x82",      // cut short
           "\xE2\x28\xA1",  // no continuation
           "\xF0\x9F\x98(",
       }) {
    EXPECT_EQ(valid_utf8_prefix("ok" + std::string(bad)), 2U) << quote(bad);
  }
}

TEST(ValidUtf8Prefix, TakesTheEdgesOfTheForbiddenRanges) {
  for (const std::string_view good : {"\xC2\x80",
                                      "\xDF\xBF",
                                      "\xE0\xA0\x80",
                                      "\xED\x9F\xBF",
                                      "\xEE\x80\x80",
                                      "\xF0\x90\x80\x80",
                                      "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8_prefix(good), good.size()) << good;
  }
}

TEST(WithoutByteOrderMark, DropsOneMarkAtTheStart) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBFx"), "x");
  EXPECT_EQ(without_byte_order_mark("x\xEF\xBB\xBF"), "x\xEF\xBB\xBF");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB"), "\xEF\xBB");
}

TEST(ShownPath, QuotesOnlyWhatIsNotText) {
  const std::string deep(200, 'x');
  EXPECT_EQ(shown_path("a b/\"c\"/" + deep), "a b/\"c\"/" + deep);
  EXPECT_EQ(shown_path("\xC3\xA9.csv"), "\xC3\xA9.csv");
  // A terminal would obey the first and could not show the second.
  EXPECT_EQ(shown_path("a\x1B[31m.csv"), R"("a\x1b[31m.csv")");
  EXPECT_EQ(shown_path(deep + "\xFF"), '"' + deep + R"(\xff")");
}

TEST(Quote, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(quote("plain"), R"("plain")");
  EXPECT_EQ(quote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quote("a\x1B[31m\n\x7F"), R"("a\x1b[31m\n\x7f")");
  EXPECT_EQ(quote(std::string_view("\0", 1)), R"("\x00")");
  EXPECT_EQ(quote("\xC3\xA9\xFF"), "\"\xC3\xA9\\xff\"");
}

TEST(Escaped, LeavesTextAndWhatIsEscaped) {
  const std::string sound = "no policy \"a\\x1b\", expected \xC3\xA9";
  EXPECT_EQ(escaped(sound), sound);
  EXPECT_EQ(escaped("a\x1B[31m\nb\tc\x7F"), R"(a\x1b[31m\nb\x09c\x7f)");
  // U+009B begins a command of a terminal as ESC [ does; of U+00A0 on, all is text.
  EXPECT_EQ(escaped("\xC2\x9B\x33m\xC2\xA0"), "\\xc2\\x9b3m\xC2\xA0");
  EXPECT_EQ(escaped("\xFFx\xC2"), R"(\xffx\xc2)");
  // U+2028 ends a line of YAML, U+202E turns the rest around, U+FEFF and U+FFFF are no text.
  EXPECT_EQ(escaped("a\u2028b\u202Ec\uFEFFd\uFFFF"),
            R"(a\xe2\x80\xa8b\xe2\x80\xaec\xef\xbb\xbfd\xef\xbf\xbf)");
  EXPECT_EQ(escaped("\u2027\u202F\u00A0\U0001F600"), "\u2027\u202F\u00A0\U0001F600");
}

TEST(CharacterAt, IsTheCodePointOfEachLength) {
  const std::string text = "a\u00E9\u2028\U0001F600\xE2\x80";
  const std::vector<std::pair<char32_t, std::size_t>> all = {{U'a', 1},
                                                             {U'\u00E9', 2},
                                                             {U'\u2028', 3},
                                                             {U'\U0001F600', 4},
                                                             {U'\uFFFD', 1},
                                                             {U'\uFFFD', 1}};
  std::size_t at = 0;
  for (const auto& [code, length] : all) {
    const Character found = character_at(text, at);
    EXPECT_EQ(found.code, code);
    EXPECT_EQ(found.length, length);
    EXPECT_EQ(found.is_well_formed, code != U'\uFFFD');
    at += found.length;
  }
  EXPECT_EQ(at, text.size());
}

TEST(CommentLine, IsOneLineWhateverItHolds) {
  EXPECT_EQ(comment_line("on h100, vllm"), "# on h100, vllm\n");
  EXPECT_EQ(comment_line("h1\ntouch x\r\u2028y\u0085"),
            "# h1\\ntouch x\\x0d\\xe2\\x80\\xa8y\\xc2\\x85\n");
}

TEST(Quote, CutsAfterSixtyCharactersNotBytes) {
  EXPECT_EQ(quote(std::string(60, 'x')), '"' + std::string(60, 'x') + '"');
  EXPECT_EQ(quote(std::string(61, 'x')), '"' + std::string(60, 'x') + "...\"");
  std::string accents;
  for (int i = 0; i < 61; ++i) {
    accents += "\xC3\xA9";
  }
  EXPECT_EQ(quote(accents), '"' + accents.substr(0, 120) + "...\"");
}

TEST(Shortest, HasNoExponentForIntegersUpToTwoToThe53) {
  EXPECT_EQ(shortest(0.0), "0");
  EXPECT_EQ(shortest(-0.0), "-0.0");
  EXPECT_EQ(shortest(1e15), "1000000000000000");
  EXPECT_EQ(shortest(9007199254740992.0), "9007199254740992");
  EXPECT_EQ(shortest(-9007199254740992.0), "-9007199254740992");
  EXPECT_EQ(shortest(1e22), "1e+22");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1e-7), "1e-07");
}

TEST(Shortest, ReadsBackTheSame) {
  for (const double value : {0.1,
                             1.0 / 3.0,
                             2.0 / 3.0 * 1e300,
                             5e-324,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::min(),
                             9007199254740993.5e3,
                             -1.5}) {
    const std::string text = shortest(value);
    double back = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, value) << text;
  }
}

TEST(TextPositions, CountsLinesAndCharacters) {
  TextPositions positions("ab\n\xC3\xA9x\n");
  EXPECT_EQ(positions.at(0).line, 1);
  EXPECT_EQ(positions.at(0).column, 1);
  EXPECT_EQ(positions.at(2).column, 3);  // the line break itself
  EXPECT_EQ(positions.at(3).line, 2);
  EXPECT_EQ(positions.at(3).column, 1);
  EXPECT_EQ(positions.at(5).column, 2);  // é is two bytes and one character
  EXPECT_EQ(positions.at(7).line, 3);
  EXPECT_EQ(positions.at(7).column, 1);
  EXPECT_EQ(positions.at(1000).line, 3);
}

TEST(TextPositions, AgreesWithACountFromTheStartOnLongText) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += i % 37 == 0 ? "\n" : (i % 5 == 0 ? "\xE2\x82\xAC" : "x");
  }
  TextPositions positions(text);
  int line = 1;
  int column = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0U) != 0x80U) {
      EXPECT_EQ(positions.at(at).line, line) << at;
      EXPECT_EQ(positions.at(at).column, column) << at;
    }
    if (byte == '\n') {
      ++line;
      column = 1;
    } else if ((byte & 0xC0U) != 0x80U) {
      ++column;
    }
  }
}

TEST(TextPositions, AskedInAnyOrder) {
  // Line k + 1 is k letters long, before its break: it begins at k (k + 1) / 2.
  std::string text;
  for (std::size_t k = 0; k < 40; ++k) {
    text += std::string(k, 'x') + "\n";
  }
  TextPositions positions(text);
  for (const int k : {39, 3, 30, 3, 0, 12, 39, 11}) {
    const auto position = positions.at(static_cast<std::size_t>(k * (k + 1) / 2 + k / 2));
    EXPECT_EQ(position.line, k + 1);
    EXPECT_EQ(position.column, k / 2 + 1);
  }
}

TEST(TextPositions, InOneLineOfAsciiColumnsAreOffsets) {
  TextPositions positions("{\"a\": 1}");
  EXPECT_EQ(positions.at(5).line, 1);
  EXPECT_EQ(positions.at(5).column, 6);
  EXPECT_EQ(positions.at(100).column, 9);  // The end.
}

TEST(TextPositions, HoldsForAnEmptyText) {
  TextPositions positions("");
  EXPECT_EQ(positions.at(0).line, 1);
  EXPECT_EQ(positions.at(7).column, 1);
}

TEST(TimesPowerOfTen, MovesThePointOfTheShortestDecimal) {
  EXPECT_NE(0.000123 * 1e6, 123.0);
  EXPECT_EQ(times_power_of_ten(0.000123, 6), 123.0);
  EXPECT_EQ(times_power_of_ten(1.25e-7, 6), 0.125);
  EXPECT_EQ(times_power_of_ten(-4.5e300, -300), -4.5);
  EXPECT_EQ(times_power_of_ten(0.0, 6), 0.0);
  for (int i = 1; i < 10'000; ++i) {
    ASSERT_EQ(times_power_of_ten(i / 1e6, 6), i);
  }
}

}  // namespace
}  // namespace ridgeline::core

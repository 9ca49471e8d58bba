#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "support/paths.hpp"
#include "unit/document/document_text.hpp"

namespace ridgeline::document {
namespace {

std::string read(std::string_view text, NonFinite non_finite = NonFinite::kRefuse) {
  return outline(parse_json(text, "f", non_finite));
}

TEST(ParseJson, KeepsPlacesOrderAndDuplicates) {
  EXPECT_EQ(read("{\"b\": 1,\n \"a\": [true, null],\n \"b\": {}}"),
            "{b@1:2=1@1:7 a@2:2=[true@2:8 null@2:14 ]@2:7 b@3:2={}@3:7 }@1:1");
}

TEST(ParseJson, TakesScalarsAtTheTop) {
  EXPECT_EQ(read(" 12 "), "12@1:2");
  EXPECT_EQ(read("-0.5e1"), "-5@1:1");
  EXPECT_EQ(read("\"x\""), "\"x\"@1:1");
  EXPECT_EQ(read("true"), "true@1:1");
  EXPECT_EQ(read("false\n"), "false@1:1");
  EXPECT_EQ(read("null"), "null@1:1");
}

TEST(ParseJson, DelimitsLiteralsAtTheTop) {
  for (const std::string_view space : {"", " ", "\r", "\n", "\t", "\r\n  "}) {
    EXPECT_EQ(read(fmt::format("null{}", space)), "null@1:1");
    EXPECT_EQ(read(fmt::format("true{}", space)), "true@1:1");
    EXPECT_EQ(read(fmt::format("nullx{}", space)), "f:1:1: expected a value, found \"nullx\"");
    EXPECT_EQ(read(fmt::format("falsex{}", space)), "f:1:1: expected a value, found \"falsex\"");
  }
}

TEST(ParseJson, CountsColumnsInCharacters) {
  EXPECT_EQ(read("[\"\xC3\xA9\", 1]"), "[\"\xC3\xA9\"@1:2 1@1:7 ]@1:1");
}

TEST(ParseJson, SkipsAByteOrderMark) {
  EXPECT_EQ(read("\xEF\xBB\xBF[1]"), "[1@1:2 ]@1:1");
}

TEST(ParseJson, Unescapes) {
  const auto node = parse_json(R"(["\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\u0000"])", "f");
  ASSERT_TRUE(node);
  using namespace std::string_view_literals;
  EXPECT_EQ(node->items()[0].as_string(), "\"\\/\b\f\n\r\tA\xC3\xA9\xF0\x9F\x98\x80\0"sv);
  const auto key = parse_json(R"({"\u0061": 1})", "f");
  ASSERT_TRUE(key);
  EXPECT_NE(key->find("a"), nullptr);
}

TEST(ParseJson, KeepsIntegersExactAndTurnsLargerOnesIntoReals) {
  const auto node = parse_json(
      "[9223372036854775807, -9223372036854775808, 9223372036854775808, 1e3, 1.0, -0, "
      "100000000000000000000000]",
      "f");
  ASSERT_TRUE(node);
  const auto& items = node->items();
  EXPECT_EQ(items[0].as_integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(items[1].as_integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(items[2].kind(), Node::Kind::kReal);
  EXPECT_EQ(items[2].as_real(), 9223372036854775808.0);  // 2^63
  EXPECT_EQ(items[3].kind(), Node::Kind::kReal);
  EXPECT_EQ(items[4].kind(), Node::Kind::kReal);
  EXPECT_EQ(items[5].kind(), Node::Kind::kInteger);
  EXPECT_EQ(items[6].as_real(), 1e23);
}

TEST(ParseJson, RefusesNumbersThatAreNotFinite) {
  EXPECT_EQ(read("[1e400]"), "f:1:2: \"1e400\" is outside the range of a double");
  EXPECT_EQ(read("-1e999"), "f:1:1: \"-1e999\" is outside the range of a double");
  EXPECT_EQ(read("[1,\n NaN]"), "f:2:2: NaN is not JSON, expected a finite number or null");
  EXPECT_EQ(read("{\"a\": -Infinity}"),
            "f:1:7: -Infinity is not JSON, expected a finite number or null");
}

TEST(ParseJson, ReadsNonFiniteNumbersAsNullWhenAsked) {
  EXPECT_EQ(read("[0.0, Infinity, -Infinity, NaN, 1]", NonFinite::kReadAsNull),
            "[0@1:2 null@1:7 null@1:17 null@1:28 1@1:33 ]@1:1");
  EXPECT_EQ(read("{\"a\": NaN, \"b\": 1}", NonFinite::kReadAsNull),
            "{a@1:2=null@1:7 b@1:12=1@1:17 }@1:1");
  EXPECT_EQ(read("[Infinit]", NonFinite::kReadAsNull),
            "f:1:2: expected a value, found \"Infinit\"");
  EXPECT_EQ(read("[NaN", NonFinite::kReadAsNull),
            "f:1:5: the text ends before its list or map is closed");
}

TEST(ParseJson, SaysWhereThePunctuationIsWrong) {
  EXPECT_EQ(read("[1,]"), "f:1:4: expected a value, found \"]\"");
  EXPECT_EQ(read("[1,,2]"), "f:1:4: expected a value, found \",\"");
  EXPECT_EQ(read("[1 2]"), "f:1:4: expected ',' or ']', found \"2\"");
  EXPECT_EQ(read("[1}"), "f:1:3: expected ',' or ']', found \"}\"");
  EXPECT_EQ(read("{\"a\":1,}"), "f:1:8: expected a key in quotes, ':', ',' or '}', found \"}\"");
  EXPECT_EQ(read("{\"a\" 1}"), "f:1:6: expected a key in quotes, ':', ',' or '}', found \"1\"");
  EXPECT_EQ(read("{\"a\":1 \"b\":2}"),
            "f:1:8: expected a key in quotes, ':', ',' or '}', found a string");
  EXPECT_EQ(read("{a: 1}"), "f:1:2: expected a key in quotes, ':', ',' or '}', found \"a\"");
  EXPECT_EQ(read("{\"a\":}"), "f:1:6: expected a value, found \"}\"");
  EXPECT_EQ(read("]"), "f:1:1: expected a value, found \"]\"");
}

TEST(ParseJson, RefusesWhatIsNoValue) {
  for (const std::string_view word :
       {"nul", "nulll", "truex", "True", "None", "nan",   "'a'", "01",    "-01", "1.",       ".5",
        "+1",  "-",     "1e",    "1e+",  "0x10", "1_000", "12x", "1.2.3", "//",  "undefined"}) {
    EXPECT_EQ(read(word), fmt::format("f:1:1: expected a value, found \"{}\"", word));
    EXPECT_EQ(read(fmt::format("[{}]", word)),
              fmt::format("f:1:2: expected a value, found \"{}\"", word));
    EXPECT_EQ(read(fmt::format("{{\"k\": {}}}", word)),
              fmt::format("f:1:7: expected a value, found \"{}\"", word));
  }
}

TEST(ParseJson, RefusesTextAfterTheEnd) {
  EXPECT_EQ(read("[1] 2"), "f:1:5: expected the end of the text, found \"2\"");
  EXPECT_EQ(read("[1]]"), "f:1:4: expected the end of the text, found \"]\"");
  EXPECT_EQ(read("{}\n{}"), "f:2:1: expected the end of the text, found \"{\"");
  EXPECT_EQ(read("1 2"), "f:1:3: expected the end of the text, found \"2\"");
  EXPECT_EQ(read("1.5,"), "f:1:4: expected the end of the text, found \",\"");
  EXPECT_EQ(read("0\x1A"), "f:1:2: expected the end of the text, found \"\\x1a\"");
  EXPECT_EQ(read("\"a\" b"), "f:1:5: expected the end of the text, found \"b\"");
  EXPECT_EQ(read("true x"), "f:1:6: expected the end of the text, found \"x\"");
  EXPECT_EQ(read("null null"), "f:1:6: expected the end of the text, found \"null\"");
}

TEST(ParseJson, RefusesWhatIsCutShort) {
  for (const std::string_view text : {"[",
                                      "{",
                                      "[1",
                                      "[1,",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "[[1],[2",
                                      "[\"a\"",
                                      "[tru",
                                      "[{}",
                                      "{\"a\":{\"b\":[1]}"}) {
    EXPECT_EQ(
        read(text),
        fmt::format("f:1:{}: the text ends before its list or map is closed", text.size() + 1));
  }
}

TEST(ParseJson, RefusesEveryPrefixOfADocument) {
  const std::string_view text = R"({"a": [1, -2.5e3, "x\n\u00e9"], "b": {"c": null, "d": true}})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_json(text.substr(0, size), "f")) << text.substr(0, size);
  }
  EXPECT_TRUE(parse_json(text, "f"));
}

TEST(ParseJson, RefusesBrokenStrings) {
  EXPECT_EQ(read("[\"a\", \"abc]"), "f:1:7: a string is never closed");
  EXPECT_EQ(read("\"\\\""), "f:1:1: a string is never closed");
  EXPECT_EQ(read("{\"a\":\n  \"\t\"}"), "f:2:4: a string holds a bare control character");
  for (const std::string_view escape :
       {"\\x", "\\u12", "\\u12g4", "\\ud800", "\\ud800x", "\\ud800\\u0041", "\\udc00", "\\'"}) {
    EXPECT_EQ(read(fmt::format("[\"{}\"]", escape)),
              "f:1:2: a string holds an escape that JSON does not have")
        << escape;
    EXPECT_EQ(read(fmt::format("{{\"{}\": 1}}", escape)),
              "f:1:2: a string holds an escape that JSON does not have")
        << escape;
  }
}

TEST(ParseJson, RefusesInvalidUtf8WithItsPlace) {
  EXPECT_EQ(read("[\n\"\xFF\"]"), "f:2:2: invalid UTF-8");
  EXPECT_EQ(read("[\"\xED\xA0\x80\"]"), "f:1:3: invalid UTF-8");
  EXPECT_EQ(read("[\"\xC0\xAF\"]"), "f:1:3: invalid UTF-8");
}

TEST(ParseJson, RefusesAnEmptyText) {
  EXPECT_EQ(read(""), "f:1:1: is empty, expected a JSON document");
  EXPECT_EQ(read(" \n\t"), "f:1:1: is empty, expected a JSON document");
  EXPECT_EQ(read("\xEF\xBB\xBF"), "f:1:1: is empty, expected a JSON document");
}

TEST(ParseJson, LimitsDepth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxDocumentDepth), "f"));
  EXPECT_EQ(read(nested(kMaxDocumentDepth + 1)), "f:1:65: nests deeper than 64 levels");
  EXPECT_EQ(read(std::string(1'000'000, '[')), "f:1:65: nests deeper than 64 levels");
  std::string maps;
  for (int i = 0; i < 100'000; ++i) {
    maps += "{\"a\":";
  }
  // The 65th brace: 64 times five characters, and one more.
  EXPECT_EQ(read(maps), "f:1:321: nests deeper than 64 levels");
}

TEST(ParseJson, LimitsSizeAndNumberOfValues) {
  EXPECT_EQ(read(std::string(kMaxDocumentBytes + 1, ' ')),
            "f: is larger than the limit of 16777216 bytes");
  std::string zeros = "[0";
  for (std::size_t i = 2; i < kMaxDocumentNodes; ++i) {
    zeros += ",0";
  }
  EXPECT_TRUE(parse_json(zeros + "]", "f"));  // the list is a value too
  // The next zero is number 1 000 000, at twice its number less nothing: "[0" then ",0".
  EXPECT_EQ(read(zeros + ",0]"), "f:1:2000000: holds more than 1000000 values");
}

TEST(ParseJson, ReadsPublishedModelConfigurations) {
  const std::filesystem::path folder = test::shared_dir() / "models";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no folder of published configurations beside the checkout";
  }
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") {
      files.insert(entry.path().string());
    }
  }
  EXPECT_FALSE(files.empty());
  for (const std::string& file : files) {
    const auto text = read_file(file);
    ASSERT_TRUE(text) << file;
    const auto node = parse_json(*text, file, NonFinite::kReadAsNull);
    EXPECT_TRUE(node) << outline(node);
    EXPECT_TRUE(node && node->is_map() && !node->members().empty()) << file;
  }
}

}  // namespace
}  // namespace ridgeline::document

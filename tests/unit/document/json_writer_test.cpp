#include "document/json_writer.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "unit/document/document_text.hpp"

namespace ridgeline::document {
namespace {

using Layout = JsonWriter::Layout;

std::string one(const auto& value) {
  return JsonWriter(Layout::kOneLine).value(value).text();
}

void write_example(JsonWriter& json) {
  json.begin_object()
      .member("b", 1)
      .member("a", "text")
      .key("list")
      .begin_array()
      .value(0.5)
      .value(true)
      .null()
      .begin_object()
      .end_object()
      .end_array()
      .key("empty")
      .begin_array()
      .end_array()
      .end_object();
}

TEST(JsonWriter, IndentsByTwoInTheOrderOfTheCalls) {
  JsonWriter json;
  write_example(json);
  EXPECT_EQ(json.text(), R"({
  "b": 1,
  "a": "text",
  "list": [
    0.5,
    true,
    null,
    {}
  ],
  "empty": []
})");
}

TEST(JsonWriter, WritesOneLineWithoutSpaces) {
  JsonWriter json(Layout::kOneLine);
  write_example(json);
  EXPECT_EQ(json.text(), R"({"b":1,"a":"text","list":[0.5,true,null,{}],"empty":[]})");
}

TEST(JsonWriter, WritesEveryKindOfInteger) {
  EXPECT_EQ(one(0), "0");
  EXPECT_EQ(one(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(one(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(one(std::uint64_t{5}), "5");
  EXPECT_EQ(one(std::size_t{7}), "7");
  EXPECT_EQ(one(std::int8_t{-3}), "-3");
  EXPECT_EQ(one(false), "false");
}

TEST(JsonWriter, WritesDoublesInTheFewestDigits) {
  EXPECT_EQ(one(0.1), "0.1");
  EXPECT_EQ(one(1e15), "1000000000000000");
  EXPECT_EQ(one(9007199254740992.0), "9007199254740992");  // 2^53
  EXPECT_EQ(one(1e100), "1e+100");
  EXPECT_EQ(one(-2.5e-9), "-2.5e-09");
}

TEST(JsonWriter, EscapesStrings) {
  using namespace std::string_view_literals;
  EXPECT_EQ(one("\"\\/\b\f\n\r\t\x01\x1F\x7F\0"sv),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000\"");
  EXPECT_EQ(one("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\"");
  EXPECT_EQ(one(std::string("x")), "\"x\"");
  EXPECT_EQ(JsonWriter(Layout::kOneLine).begin_object().member("\"\n", 1).end_object().text(),
            "{\"\\\"\\n\":1}");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(one("a\xFF\xC3(\xE2\x82"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

// A reader of YAML takes the first two for line breaks and refuses the others; a terminal obeys
// some.
TEST(JsonWriter, EscapesWhatIsNotPrintable) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.value("\u2028\u0085\x7F\u009B\uFEFF\u202E\uFFFF\u00E9\U0001F600");
  EXPECT_EQ(json.text(), "\"\\u2028\\u0085\\u007f\\u009b\\ufeff\\u202e\\uffff\u00E9\U0001F600\"");
}

TEST(JsonWriter, IsReadBackByTheReader) {
  for (const auto layout : {Layout::kIndented, Layout::kOneLine}) {
    JsonWriter json(layout);
    json.begin_object()
        .member("tiny", 5e-324)
        .member("third", 1.0 / 3.0)
        .member("huge", std::numeric_limits<double>::max())
        .member("text", "q\"\\\n\x01\xC3\xA9")
        .end_object();
    const auto node = parse_json(json.text(), "f");
    ASSERT_TRUE(node) << outline(node);
    EXPECT_EQ(node->find("tiny")->as_real(), 5e-324);
    EXPECT_EQ(node->find("third")->as_real(), 1.0 / 3.0);
    EXPECT_EQ(node->find("huge")->as_real(), std::numeric_limits<double>::max());
    EXPECT_EQ(node->find("text")->as_string(), "q\"\\\n\x01\xC3\xA9");
  }
}

TEST(JsonWriter, StartsOver) {
  JsonWriter json(Layout::kOneLine);
  json.begin_array().value(1);
  json.clear();
  EXPECT_EQ(json.begin_object().end_object().text(), "{}");
  json.clear();
  EXPECT_EQ(json.value("x").text(), "\"x\"");
}

TEST(JsonWriterDeathTest, RefusesWhatIsNotJson) {
  EXPECT_DEATH(JsonWriter().value(std::numeric_limits<double>::infinity()), "write null");
  EXPECT_DEATH(JsonWriter().value(std::numeric_limits<double>::quiet_NaN()), "write null");
  EXPECT_DEATH(JsonWriter().value(std::numeric_limits<std::uint64_t>::max()), "beyond int64");
  EXPECT_DEATH(JsonWriter().begin_object().value(1), "without a key");
  EXPECT_DEATH(JsonWriter().begin_array().key("a"), "internal error");
  EXPECT_DEATH(JsonWriter().key("a"), "internal error");
  EXPECT_DEATH(JsonWriter().begin_object().key("a").key("b"), "internal error");
  EXPECT_DEATH(JsonWriter().begin_object().key("a").end_object(), "closes nothing");
  EXPECT_DEATH(JsonWriter().begin_object().end_array(), "closes nothing");
  EXPECT_DEATH(JsonWriter().end_array(), "closes nothing");
  EXPECT_DEATH(JsonWriter().value(1).value(2), "second JSON value");
  EXPECT_DEATH(static_cast<void>(JsonWriter().text()), "not whole");
  EXPECT_DEATH(static_cast<void>(JsonWriter().begin_array().text()), "not whole");
}

}  // namespace
}  // namespace ridgeline::document

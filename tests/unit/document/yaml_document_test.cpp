#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/yaml_documents.hpp"
#include "unit/document/document_text.hpp"

namespace ridgeline::document {
namespace {

std::string read(std::string_view text) {
  return outline(parse_yaml(text, "f"));
}

TEST(ParseYaml, KeepsPlacesOrderAndDuplicates) {
  EXPECT_EQ(read("b: 1\na:\n  - true\n  - {x: 'y'}\nb: 2.5\n"),
            "{b@1:1=1@1:4 a@2:1=[true@3:5 {x@4:6=\"y\"@4:9 }@4:5 ]@3:3 b@5:1=2.5@5:4 }@1:1");
}

TEST(ParseYaml, CountsColumnsInCharactersAndTakesWindowsFiles) {
  EXPECT_EQ(read("\xEF\xBB\xBF{\xC3\xA9: 1, b: 2}\r\n"), "{\xC3\xA9@1:2=1@1:5 b@1:8=2@1:11 }@1:1");
  EXPECT_EQ(read("a: 1\r\nb: x\r\n"), "{a@1:1=1@1:4 b@2:1=\"x\"@2:4 }@1:1");
}

TEST(ParseYaml, TakesOneMarkedDocumentAndScalars) {
  EXPECT_EQ(read("%YAML 1.2\n---\na: 1\n...\n"), "{a@3:1=1@3:4 }@3:1");
  EXPECT_EQ(read("12"), "12@1:1");
  EXPECT_EQ(read("a: |\n  one\n  two\nb: >-\n  one\n  two\n"),
            "{a@1:1=\"one\\ntwo\\n\"@1:4 b@4:1=\"one two\"@4:4 }@1:1");
}

TEST(ParseYaml, ReadsNullInItsSpellings) {
  EXPECT_EQ(read("[null, ~, ]"), "[null@1:2 null@1:8 ]@1:1");
  // An absent value stands where its key stands.
  EXPECT_EQ(read("a:\nb: ~\n"), "{a@1:1=null@1:1 b@2:1=null@2:1 }@1:1");
  EXPECT_EQ(read("a: 'null'"), "{a@1:1=\"null\"@1:4 }@1:1");
}

TEST(ParseYaml, TakesOnlyTrueAndFalseForBooleans) {
  for (const std::string_view word :
       {"True", "TRUE", "False", "yes", "no", "Yes", "on", "off", "y", "n"}) {
    const auto node = parse_yaml(word, "f");
    ASSERT_TRUE(node) << word;
    EXPECT_EQ(node->kind(), Node::Kind::kString) << word;
  }
  EXPECT_TRUE(parse_yaml("true", "f")->as_bool());
  EXPECT_FALSE(parse_yaml("false", "f")->as_bool());
  EXPECT_EQ(parse_yaml("'true'", "f")->kind(), Node::Kind::kString);
}

TEST(ParseYaml, ReadsIntegers) {
  EXPECT_EQ(parse_yaml("0", "f")->as_integer(), 0);
  EXPECT_EQ(parse_yaml("+5", "f")->as_integer(), 5);
  EXPECT_EQ(parse_yaml("-12", "f")->as_integer(), -12);
  EXPECT_EQ(parse_yaml("9223372036854775807", "f")->as_integer(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_yaml("-9223372036854775808", "f")->as_integer(),
            std::numeric_limits<std::int64_t>::min());
  const auto large = parse_yaml("9223372036854775808", "f");
  EXPECT_EQ(large->kind(), Node::Kind::kReal);
  EXPECT_EQ(large->as_real(), 9223372036854775808.0);  // 2^63
}

TEST(ParseYaml, ReadsReals) {
  struct Case {
    std::string_view text;
    double value;
  };
  for (const auto& [text, value] : {Case{"0.5", 0.5},
                                    Case{".5", 0.5},
                                    Case{"5.", 5.0},
                                    Case{"1e3", 1000.0},
                                    Case{"-2.5E-1", -0.25},
                                    Case{"+1.0e+2", 100.0}}) {
    const auto node = parse_yaml(text, "f");
    ASSERT_TRUE(node) << text;
    EXPECT_EQ(node->kind(), Node::Kind::kReal) << text;
    EXPECT_EQ(node->as_real(), value) << text;
  }
}

TEST(ParseYaml, LeavesTheRestAsText) {
  for (const std::string_view word : {"0x10",
                                      "0o17",
                                      "1.2.3",
                                      "80GiB",
                                      "1e",
                                      "1e+",
                                      ".",
                                      "+",
                                      "1-2",
                                      "e5",
                                      "inf",
                                      "nan",
                                      "v0.15",
                                      "12:30",
                                      "a_b",
                                      "_1_",
                                      "1,000"}) {
    const auto node = parse_yaml(fmt::format("k: {}", word), "f");
    ASSERT_TRUE(node) << word << outline(node);
    ASSERT_NE(node->find("k"), nullptr);
    EXPECT_EQ(node->find("k")->kind(), Node::Kind::kString) << word;
  }
}

TEST(ParseYaml, RefusesNumbersThatReadersDisagreeOn) {
  EXPECT_EQ(read("a: 1_000"),
            "f:1:4: \"1_000\" is not a number (write 1000, or quotes around it for text)");
  EXPECT_EQ(read("a: 010"), "f:1:4: 010 starts with a zero (quotes make it text)");
  EXPECT_EQ(read("a: -01.5"), "f:1:4: -01.5 starts with a zero (quotes make it text)");
  EXPECT_EQ(read("a: '010'"), "{a@1:1=\"010\"@1:4 }@1:1");
}

TEST(ParseYaml, RefusesNumbersThatAreNotFinite) {
  for (const std::string_view word :
       {".inf", ".Inf", ".INF", "-.inf", "+.inf", ".nan", ".NaN", ".NAN"}) {
    EXPECT_EQ(read(fmt::format("a: {}", word)),
              fmt::format("f:1:4: {} is not finite (null stands for no limit)", word));
  }
  EXPECT_EQ(read("a: 1e999"), "f:1:4: \"1e999\" is outside the range of a double");
  EXPECT_EQ(read("a: '.inf'"), "{a@1:1=\".inf\"@1:4 }@1:1");
}

TEST(ParseYaml, RefusesAnchorsAliasesAndMergeKeys) {
  EXPECT_EQ(read("a: &x 1\nb: *x\n"), "f:1:4: anchor \"x\" is not supported (write the value out)");
  EXPECT_EQ(read("a: *x\n"), "f:1:4: aliases are not supported (write the value out)");
  EXPECT_EQ(read("- &x {a: 1}"), "f:1:3: anchor \"x\" is not supported (write the value out)");
  EXPECT_EQ(read("<<: {a: 1}"), "f:1:1: merge keys are not supported (write the keys out)");
  EXPECT_EQ(read("'<<': 1"), "{<<@1:1=1@1:7 }@1:1");
}

TEST(ParseYaml, RefusesExplicitTags) {
  EXPECT_EQ(read("a: !!str 12"),
            "f:1:4: tag \"tag:yaml.org,2002:str\" is not supported (quotes make a value text)");
  EXPECT_EQ(read("a: ! 12"), "f:1:4: tag \"!\" is not supported (quotes make a value text)");
  EXPECT_EQ(read("a: !x"), "f:1:4: tag \"!x\" is not supported (quotes make a value text)");
  EXPECT_EQ(read("a: !x [1]"), "f:1:4: tag \"!x\" is not supported (quotes make a value text)");
  EXPECT_EQ(read("!x\na: 1"), "f:1:1: tag \"!x\" is not supported (quotes make a value text)");
}

TEST(ParseYaml, RefusesSeveralDocuments) {
  EXPECT_EQ(read("a: 1\n---\nb: 2\n"),
            "f:2:1: text after the end of the document (a file holds one document)");
  EXPECT_EQ(read("[1] junk"),
            "f:1:5: text after the end of the document (a file holds one document)");
}

TEST(ParseYaml, RefusesKeysThatAreNotText) {
  EXPECT_EQ(read("? [a]\n: 1\n"), "f:1:3: expected a key, found a list");
  EXPECT_EQ(read("{a: 1}: 2\n"), "f:1:1: expected a key, found a map");
  EXPECT_EQ(read("~: 1\n"), "f:1:1: expected a key, found none or null");
  EXPECT_EQ(read(": 1\n"), "f:1:1: expected a key, found none or null");
  EXPECT_EQ(read("12: 1\n"), "{12@1:1=1@1:5 }@1:1");
}

TEST(ParseYaml, RefusesSlipsOfIndentation) {
  EXPECT_EQ(read("a:\n  b: 1\n   c: 2\n"),
            "f:3:5: unexpected ':' (check the indentation, and quote text that holds ': ')");
  EXPECT_EQ(read("a:\n  b: 1\n c: 2\n"), "f:3:2: expected the next key or less indentation");
  EXPECT_EQ(read("- 1\nb: 2\n"),
            "f:2:1: text after the end of the document (a file holds one document)");
  EXPECT_EQ(read("a:\n  - 1\n b: 2\n"), "f:3:2: expected the next key or less indentation");
  EXPECT_EQ(read("- 'x' y\n"), "f:1:7: expected the next item or less indentation");
  EXPECT_EQ(read("a: b: c\n"),
            "f:1:5: unexpected ':' (check the indentation, and quote text that holds ': ')");
  EXPECT_EQ(read("a: 'x' y\n"), "f:1:8: expected the next key or less indentation");
}

TEST(ParseYaml, NamesTheTabThatIndentsALine) {
  EXPECT_EQ(read("a:\n\tb: 1\n"), "f:2:1: a tab indents the line (indent with spaces)");
  EXPECT_EQ(read("a:\n  b: 1\n \tc: 1\n"), "f:3:2: a tab indents the line (indent with spaces)");
  EXPECT_EQ(read("a:\t1\n"), "{a@1:1=1@1:4 }@1:1");
}

TEST(ParseYaml, RefusesWhatIsCutShort) {
  EXPECT_EQ(read("a: [1, 2"), "f:1:9: expected ',' or ']'");
  EXPECT_EQ(read("a: {b: 1"), "f:1:9: expected ',' or '}'");
  EXPECT_EQ(read("a: \"abc"), "f:1:8: a quoted text is never closed");
  // yaml-cpp takes these for closed.
  EXPECT_EQ(read("a: \"abc\n"), "f:1:4: a quoted text is never closed");
  EXPECT_EQ(read("a: 'abc\n"), "f:1:4: a quoted text is never closed");
  EXPECT_EQ(read("a: 'it''s\n"), "f:1:4: a quoted text is never closed");
  EXPECT_EQ(read("a: \"abc\\\"\n"), "f:1:4: a quoted text is never closed");
  EXPECT_EQ(read("\"abc\n"), "f:1:1: a quoted text is never closed");
}

TEST(ParseYaml, TakesQuotesInsideQuotes) {
  EXPECT_EQ(parse_yaml("'it''s'", "f")->as_string(), "it's");
  EXPECT_EQ(parse_yaml("''", "f")->as_string(), "");
  EXPECT_EQ(parse_yaml("\"a\\\"b\\\\\"", "f")->as_string(), "a\"b\\");
  EXPECT_EQ(parse_yaml("''''", "f")->as_string(), "'");
}

TEST(ParseYaml, RefusesControlCharactersAndInvalidUtf8) {
  using namespace std::string_view_literals;
  // yaml-cpp takes the byte 4 for the end of the text, and zeros for UTF-16.
  EXPECT_EQ(read("a: 1\nb: \x04\nc: 1"), "f:2:4: a control character, which YAML does not allow");
  // JSON allows that one.
  EXPECT_EQ(read("{\"a\": \"b\x7F\"}"), "f:1:9: a control character, which YAML does not allow");
  EXPECT_EQ(read("a\0: 1"sv), "f:1:2: a control character, which YAML does not allow");
  EXPECT_EQ(read("\xFF\xFE"
                 "a\0"sv),
            "f:1:1: invalid UTF-8");
  EXPECT_EQ(read("a: 1\nb: \"\xED\xA0\x80\""), "f:2:5: invalid UTF-8");
}

TEST(ParseYaml, QuotesWhatALibraryMessageRepeats) {
  EXPECT_EQ(read("%YAML 1.x\ry\n---\na: 1"),
            "f:1:1: not valid YAML: \"bad YAML version: 1.x\\x0dy\"");
}

TEST(ParseYaml, RefusesAnEmptyText) {
  EXPECT_EQ(read(""), "f:1:1: is empty, expected a YAML document");
  EXPECT_EQ(read("# only a comment\n"), "f:1:1: is empty, expected a YAML document");
}

TEST(ParseYaml, LimitsDepth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_yaml(nested(kMaxDocumentDepth), "f"));
  EXPECT_EQ(read(nested(kMaxDocumentDepth + 1)), "f:1:65: nests deeper than 64 levels");
  EXPECT_FALSE(parse_yaml(std::string(100'000, '['), "f"));
  EXPECT_FALSE(parse_yaml(std::string(100'000, '{'), "f"));
  std::string items;
  for (int i = 0; i < 10'000; ++i) {
    items += "- ";
  }
  // The 65th dash: 64 times two characters, and one more.
  EXPECT_EQ(read(items), "f:1:129: nests deeper than 64 levels");
}

TEST(ParseYaml, LimitsSize) {
  EXPECT_EQ(read(std::string(kMaxYamlBytes + 1, ' ')),
            "f: is larger than the limit of 1048576 bytes (JSON may take 16777216)");
}

TEST(YamlDocuments, OfOthersHaveAnchorsMergesAndSeveralDocuments) {
  const auto read = parse_yaml_documents(
      "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: [*x]\n---\nf: 007\ng: .inf\n", "f");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 2U);
  const Node& first = read->front();
  EXPECT_EQ(first.find("d")->find("b")->as_integer(), 1);
  EXPECT_EQ(first.find("d")->find("c")->as_integer(), 3);
  EXPECT_EQ(first.find("e")->items().front().find("c")->as_integer(), 2);
  EXPECT_EQ(read->back().find("f")->as_string(), "007");
  EXPECT_EQ(read->back().find("g")->as_string(), ".inf");
}

TEST(YamlDocuments, AliasesStandForSoManyValuesAtMost) {
  std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 8; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) {
      text += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    }
    text += "]\n";
  }
  const auto read = parse_yaml_documents(text, "f");
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().front().message.find("aliases stand for"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::document

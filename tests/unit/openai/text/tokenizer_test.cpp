#include "openai/text/tokenizer.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer make(std::string_view json) {
  auto rules = read_tokenizer(json, "tokenizer.json");
  EXPECT_TRUE(rules) << core::to_string(rules.error().front());
  return Tokenizer(std::move(*rules));
}

std::vector<std::string> cut(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> tokens;
  tokenizer.cut(text, tokens);
  std::vector<std::string> texts;
  for (const Token& token : tokens) {
    EXPECT_EQ(tokenizer.text_of(token.id), token.text);
    texts.emplace_back(token.text);
  }
  return texts;
}

/// Bytes of letters, the blank (Ġ) and the two of é (Ã©), and merges of some.
constexpr std::string_view kByteLevel = R"({
  "added_tokens": [{"id": 20, "content": "<end>", "special": true},
                   {"id": 21, "content": "<end>er", "rstrip": true}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": " ?\\p{L}+"}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
  "post_processor": {"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<end>"}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<end>": {"id": "<end>", "ids": [20]}}},
  "model": {"type": "BPE", "IGNORE"
    "vocab": {"a": 0, "b": 1, "Ġ": 2, "Ã": 3, "©": 4, "ab": 5, "Ġab": 6, "ba": 7, "aba": 8, "abab": 9},
    "merges": ["b a", "a b", "Ġ ab", ["ab", "a"], "ab ab"]}
})";

std::string byte_level(std::string_view more) {
  std::string json(kByteLevel);
  constexpr std::string_view kPlace = "\"IGNORE\"";
  return json.replace(json.find(kPlace), kPlace.size(), more);
}

TEST(Tokenizer, JoinsThePairThatCameFirstInTheFile) {
  const Tokenizer tokenizer = make(byte_level(""));
  // "b a" is the first merge, so that of "abab" the middle is joined before its ends.
  EXPECT_THAT(cut(tokenizer, "abab"), ElementsAre("a", "ba", "b"));
  EXPECT_THAT(cut(tokenizer, "ab ab"), ElementsAre("ab", " ab"));
  EXPECT_THAT(cut(tokenizer, "aab"), ElementsAre("a", "ab"));
}

TEST(Tokenizer, TakesWordsWholeWhereTheFileSaysSo) {
  EXPECT_THAT(cut(make(byte_level("\"ignore_merges\": true,")), "abab"), ElementsAre("abab"));
}

TEST(Tokenizer, CutsCharactersIntoBytes) {
  EXPECT_THAT(cut(make(byte_level("")), "é"), ElementsAre("\xC3", "\xA9"));
}

TEST(Tokenizer, FindsAddedTokensFirstAndTheLongest) {
  const Tokenizer tokenizer = make(byte_level(""));
  EXPECT_THAT(cut(tokenizer, "a<end>b<end>er  a"), ElementsAre("a", "<end>", "b", "<end>er", "a"));
  EXPECT_THAT(tokenizer.begin(), ElementsAre(20));
  EXPECT_EQ(tokenizer.text_of(99), "");
  EXPECT_EQ(tokenizer.text_of(-1), "");
}

/// SentencePiece's: blanks are U+2581, and what has no token is bytes.
TEST(Tokenizer, FallsBackToBytes) {
  std::string vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary += fmt::format("\"<0x{:02X}>\": {},", byte, byte);
  }
  const Tokenizer tokenizer = make(fmt::format(
      R"({{"normalizer": {{"type": "Sequence", "normalizers": [
           {{"type": "Prepend", "prepend": "▁"}},
           {{"type": "Replace", "pattern": {{"String": " "}}, "content": "▁"}}]}},
          "model": {{"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "<unk>",
           "vocab": {{{}"<unk>": 256, "▁": 257, "a": 258, "▁a": 259}}, "merges": ["▁ a"]}}}})",
      vocabulary));
  EXPECT_THAT(cut(tokenizer, "a aé"), ElementsAre(" a", " a", "\xC3", "\xA9"));
}

TEST(Tokenizer, KnowsMetaspaceAndUnknownTokens) {
  const Tokenizer tokenizer = make(
      R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
          "model": {"type": "BPE", "unk_token": "?", "fuse_unk": true,
                    "vocab": {"?": 0, "▁": 1, "a": 2, "▁a": 3, "a▁": 4},
                    "merges": ["a ▁", "▁ a"]}})");
  EXPECT_THAT(cut(tokenizer, "a axyz a"), ElementsAre(" a", " a", "?", " a"));
}

TEST(Tokenizer, IsReadFromAFolderOrAFile) {
  const auto tokenizer = Tokenizer::open("/nowhere/at/all");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().front().message,
            "found '/nowhere/at/all', expected a file tokenizer.json");
}

}  // namespace
}  // namespace ridgeline::text

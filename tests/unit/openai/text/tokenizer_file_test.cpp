#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::text {
namespace {

using testing::HasSubstr;

struct Refusal {
  std::string_view json;
  std::string_view expected;
};

class TokenizerRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(TokenizerRefusals, NameWhatIsNotKnown) {
  const auto rules = read_tokenizer(GetParam().json, "t.json");
  ASSERT_FALSE(rules);
  EXPECT_THAT(core::to_string(rules.error().front()), HasSubstr(std::string(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    Files,
    TokenizerRefusals,
    testing::Values(
        Refusal{"{", "t.json"},
        Refusal{"{}", "model: is missing: expected a file tokenizer.json"},
        Refusal{R"({"model": {"type": "Unigram"}})",
                "model.type: found 'Unigram', which is not known here, expected BPE"},
        Refusal{R"({"normalizer": {"type": "Lowercase"}, "model": {"type": "BPE"}})",
                "normalizer: found 'Lowercase'"},
        Refusal{R"({"pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "BPE"}})",
                "pre_tokenizer: found 'BertPreTokenizer'"},
        Refusal{R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("},
                    "behavior": "Isolated"}, "model": {"type": "BPE"}})",
                "pre_tokenizer: the regular expression \"(\" cannot be read"},
        Refusal{R"({"model": {"type": "BPE", "end_of_word_suffix": "</w>"}})",
                "model.end_of_word_suffix: is set"},
        Refusal{R"({"model": {"type": "BPE"}})", "model.vocab: is missing"},
        Refusal{R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})",
                "model.vocab: 'a' has no id"},
        Refusal{R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}})",
                "model.merges: number 1: 'a' and 'a' are not two tokens that make a third"},
        Refusal{R"({"added_tokens": [{"content": "x"}],
                    "model": {"type": "BPE", "vocab": {}, "merges": []}})",
                "added_tokens: 'x' has no text, or no id"},
        Refusal{R"({"post_processor": {"type": "BertProcessing"},
                    "model": {"type": "BPE", "vocab": {}, "merges": []}})",
                "post_processor: found 'BertProcessing'"}));

}  // namespace
}  // namespace ridgeline::text

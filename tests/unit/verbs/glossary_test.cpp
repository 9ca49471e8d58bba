#include "verbs/glossary.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "latency/roofline/setting_names.hpp"
#include "support/paths.hpp"

namespace ridgeline::verbs {
namespace {

using testing::HasSubstr;

TEST(Glossary, FindsAWordHoweverItIsWritten) {
  for (const char* word : {"MFU database", "mfu_database", "--mfu-database", "mfuDatabase"}) {
    const GlossaryEntry* entry = find_in_glossary(word);
    ASSERT_NE(entry, nullptr) << word;
    EXPECT_EQ(entry->theirs, "MFU database");
  }
  EXPECT_EQ(find_in_glossary("mfu"), nullptr);
  EXPECT_EQ(find_in_glossary(""), nullptr);
}

TEST(Glossary, AnUnknownWordGetsItsTranslation) {
  const auto hint = [](const char* field, const char* message) {
    return with_translation({.field = field, .message = message, .hint = "as before"}).hint;
  };
  EXPECT_THAT(hint("latency.set.maxKVLen", "v2-final has no such constant or switch"),
              HasSubstr("decode_attention=max"));
  EXPECT_THAT(hint("--qps", "no such flag"), HasSubstr("--request-rate"));
  EXPECT_THAT(hint("workload.QPS", "unknown key"), HasSubstr("--request-rate"));
  EXPECT_THAT(hint("", "found \"blis_evaluator.py\", expected a verb"), HasSubstr("validate FILE"));
  EXPECT_THAT(hint("--arrivals", "found \"synchronous\", expected one of: constant"),
              HasSubstr("--max-concurrency 1"));
  // Words of ours, and theirs where nothing is unknown, keep their hint.
  EXPECT_EQ(hint("--request-rat", "no such flag"), "as before");
  EXPECT_EQ(hint("phase", "is missing"), "as before");
  EXPECT_EQ(hint("", "found 3, expected one of 1, 2"), "as before");
}

TEST(Glossary, ThePageAndTheDocumentationHaveEveryWord) {
  std::ifstream file(test::source_dir() / "lab/docs/original-words.md");
  const std::string docs(std::istreambuf_iterator<char>(file), {});
  const std::string page = glossary_page();
  for (const GlossaryEntry& entry : glossary()) {
    EXPECT_THAT(docs, HasSubstr(fmt::format("| {} |", entry.theirs)));
    EXPECT_THAT(page, HasSubstr(std::string(entry.theirs)));
  }
  std::ifstream v2_file(test::source_dir() / "docs/models/rooflines.md");
  const std::string v2(std::istreambuf_iterator<char>(v2_file), {});
  for (const auto& alias : latency::roofline::setting_aliases()) {
    EXPECT_THAT(v2, HasSubstr(fmt::format("`{}`", alias.theirs)));
    EXPECT_THAT(page, HasSubstr(std::string(alias.theirs)));
  }
}

}  // namespace
}  // namespace ridgeline::verbs

#include "cli/completions.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/manual.hpp"
#include "cli/verb_pages.hpp"
#include "scenario/options.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const VerbPage& page_of(const std::vector<VerbPage>& pages, const std::string& name) {
  return *std::ranges::find(pages, name, &VerbPage::name);
}

TEST(VerbPages, HoldEveryVerbAndItsFlags) {
  const auto pages = verb_pages();
  for (const verbs::Verb& verb : verbs::verbs()) {
    const bool wanted = verb.name != "help";
    const bool found = std::ranges::find(pages, verb.name, &VerbPage::name) != pages.end();
    EXPECT_EQ(found, wanted) << verb.name;
  }
  const VerbPage& run = page_of(pages, "run");
  EXPECT_THAT(positional_words(run), IsEmpty());
  EXPECT_THAT(positional_words(page_of(pages, "completions")), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(positional_words(page_of(pages, "kernels")), Contains("fit"));
  for (const auto& option : scenario::options()) {
    const auto& flags = run.opening.flags;
    EXPECT_TRUE(std::ranges::find(flags, option.flag, &FlagSpec::name) != flags.end())
        << option.flag;
  }
}

TEST(VerbPages, KnowWhatAFlagTakes) {
  EXPECT_THAT(value_words({.name = "format", .value = "table|json"}), ElementsAre("table", "json"));
  EXPECT_THAT(value_words({.name = "gpu", .value = "VALUE"}), Contains("h100"));
  EXPECT_THAT(value_words({.name = "to", .value = "FORMAT"}), Contains("request-jsonl"));
  EXPECT_THAT(value_words({.name = "seed", .value = "N"}), IsEmpty());
  EXPECT_TRUE(takes_file({.name = "svg", .value = "FILE"}));
  EXPECT_FALSE(takes_file({.name = "seed", .value = "N"}));
}

TEST(Completions, HoldEverySettingForEachShell) {
  for (const std::string& script : {bash_completions(), zsh_completions(), fish_completions()}) {
    for (const auto& option : scenario::options()) {
      EXPECT_THAT(script, HasSubstr(std::string(option.flag)));
    }
  }
}

TEST(ManualPage, HoldsEverySetting) {
  const std::string page = manual_page();
  EXPECT_TRUE(page.starts_with(".TH RIDGELINE 1 "));
  for (const auto& option : scenario::options()) {
    EXPECT_THAT(page, HasSubstr("\n\\fB" + std::string(option.path) + "\\fR"));
  }
}

}  // namespace
}  // namespace ridgeline::cli

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/help.hpp"
#include "report/version.hpp"
#include "scenario/options.hpp"

namespace ridgeline::cli {
namespace {

using testing::HasSubstr;

TEST(Help, TheFirstPageNamesTheVersionAndEveryVerbOfThisVersion) {
  EXPECT_THAT(std::string(report::version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  const std::string page = first_page();
  EXPECT_THAT(page, testing::StartsWith("ridgeline " + std::string(report::version()) + ": "));
  for (const Verb& verb : verbs()) {
    const bool is_named = page.find("\n  " + std::string(verb.name) + " ") != std::string::npos;
    EXPECT_EQ(is_named, verb.run != nullptr) << verb.name;
  }
}

TEST(Help, LinesAreBrokenBesideTheirFirstColumn) {
  EXPECT_EQ(fitted("short\n\nalso short", 40), "short\n\nalso short\n");
  // 44 columns in 40: the second column begins after "  run  ".
  EXPECT_EQ(fitted("  run  one two three four five six seven eig", 40),
            "  run  one two three four five six seven\n"
            "       eig\n");
  EXPECT_EQ(fitted("a line of thirty-nine columns, no more.", 10),
            "a line of thirty-nine columns, no more.\n")
      << "never narrower than 40";
}

TEST(Help, AVerbsPageHasItsFlagsButTheHiddenAndTheRefused) {
  using Takes = FlagSpec::Takes;
  const std::array<FlagSpec, 4> flags = {
      FlagSpec{.name = "output", .letter = 'o', .value = "FILE", .help = "Writes FILE"},
      FlagSpec{.name = "jump", .takes = Takes::kTruth, .help = "Takes equal steps at once"},
      FlagSpec{.name = "secret"},
      FlagSpec{.name = "later", .takes = Takes::kRefused, .help = "not in this version"}};
  EXPECT_EQ(verb_page("run FILE", "Runs a scenario.", flags, 100),
            "usage: ridgeline run FILE\n"
            "\n"
            "Runs a scenario.\n"
            "\n"
            "  -o, --output FILE                   Writes FILE\n"
            "  --[no-]jump                         Takes equal steps at once\n");
}

TEST(Help, TheOptionsPageHasEveryOptionWithItsFlag) {
  const std::string page = options_page();
  for (const auto& option : scenario::options()) {
    EXPECT_THAT(
        page,
        HasSubstr("\n" + std::string(option.path) + "  (--" + std::string(option.flag) + ")\n"));
  }
}

}  // namespace
}  // namespace ridgeline::cli

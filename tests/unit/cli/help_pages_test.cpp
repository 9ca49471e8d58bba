#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "core/version.hpp"
#include "scenario/options.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

using testing::HasSubstr;

TEST(Help, TheFirstPageNamesTheVersionAndEveryVerbOfThisVersion) {
  EXPECT_THAT(std::string(core::version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  const std::string page = first_page();
  EXPECT_THAT(page, testing::StartsWith("ridgeline " + std::string(core::version()) + ": "));
  for (const verbs::Verb& verb : verbs::verbs()) {
    const bool is_named = page.find("\n  " + verb.name + " ") != std::string::npos;
    EXPECT_EQ(is_named, !verb.is_command()) << verb.name;
  }
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

#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

/// Without what is written differently in a flag: "maxBusyScore", "max-busy-score".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char letter : name) {
    if (letter != '_' && letter != '-') {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  return letters;
}

TEST(OptionTable, NamesAreUniqueAndFlagsFollowTheKeys) {
  std::set<std::string_view> paths;
  std::set<std::string_view> flags;
  for (const auto& option : options()) {
    EXPECT_TRUE(paths.insert(option.path).second) << option.path;
    EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    const std::string flag = letters_of(option.flag);
    const std::string key = letters_of(option.key());
    const std::string_view section = option.section().substr(option.section().rfind('.') + 1);
    // Keys that say too little alone are preceded by their section; a section's name has its flag.
    const bool prefixed = flag == letters_of(section) + key;
    const bool of_section = key == "name" && flag == letters_of(section);
    const bool repeated = option.shape != Option::Shape::kOne && key == flag + "s";
    EXPECT_TRUE(flag == key || prefixed || of_section || repeated) << option.path;
  }
}

TEST(OptionTable, EveryOptionIsExplained) {
  for (const auto& option : options()) {
    EXPECT_FALSE(option.help.empty()) << option.path;
    EXPECT_FALSE(option.example.empty()) << option.path;
    EXPECT_FALSE(option.default_text().empty()) << option.path;
    EXPECT_NE(option.default_text(), "null")
        << option.path << " needs a word on what holds when unset";
    if (option.kind() == "integer" || option.kind() == "number") {
      EXPECT_LT(option.lowest, option.highest) << option.path;
    }
  }
}

/// The text after a flag must be read as the option's own kind: each example proves it for one
/// option.
TEST(OptionTable, EveryExampleIsAccepted) {
  for (const auto& option : options()) {
    std::vector<Override> overrides = {{std::string(option.path), std::string(option.example)}};
    for (const auto& [needed, name] : {std::pair("model", "llama-3.1-8b"), {"gpu", "h100"}}) {
      if (option.path != needed) {
        overrides.push_back({needed, name});
      }
    }
    const auto loaded = load_scenario(std::nullopt, overrides, Purpose::kLook);
    if (loaded) {
      EXPECT_EQ(loaded->of(option.path).origin, Provenance::Origin::kFlag) << option.path;
      EXPECT_FALSE(value_node(option, loaded->scenario).is_null()) << option.path;
      continue;
    }
    for (const auto& error : loaded.error()) {
      // Alone, some options have nothing to act on; that must be the only complaint.
      EXPECT_THAT(error.message, testing::HasSubstr("would be ignored")) << option.path;
    }
  }
}

}  // namespace
}  // namespace ridgeline::scenario

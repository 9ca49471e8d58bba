#include "scenario/options.hpp"

#include <cctype>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
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

TEST(OptionTable, FindsByPath) {
  ASSERT_NE(find_option("engine.block_size"), nullptr);
  EXPECT_EQ(find_option("engine.block_size")->key(), "block_size");
  EXPECT_EQ(find_option("engine.block_size")->section(), "engine");
  EXPECT_EQ(find_option("engine.block_size")->range_text(), "1 to 256");
  EXPECT_EQ(find_option("seed")->section(), "");
  EXPECT_EQ(find_option("block_size"), nullptr);
}

TEST(ScenarioSchema, HasEveryOptionAndNothingElse) {
  const document::Node schema = scenario_schema();
  const document::Node* properties = schema.find("properties");
  ASSERT_NE(properties, nullptr);
  std::size_t leaves = 0;
  for (const auto& option : options()) {
    const document::Node* section = properties;
    std::string_view rest = option.section();
    while (!rest.empty()) {
      const auto dot = rest.find('.');
      const document::Node* object = section->find(rest.substr(0, dot));
      ASSERT_NE(object, nullptr) << option.path;
      if (const document::Node* either = object->find("anyOf"); either != nullptr) {
        object = &either->items().front();
      }
      EXPECT_FALSE(object->find("additionalProperties")->as_bool());
      section = object->find("properties");
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    ASSERT_NE(section->find(option.key()), nullptr) << option.path;
    EXPECT_EQ(section->find(option.key())->find("description")->as_string(), option.help);
    ++leaves;
  }
  EXPECT_EQ(leaves, options().size());
  EXPECT_NE(properties->find("set"), nullptr);
}

TEST(ScenarioSchema, TakesThousandsOfTokens) {
  const document::Node schema = scenario_schema();
  const document::Node* engine = schema.find("properties")->find("engine");
  const document::Node& map = engine->find("anyOf")->items().front();
  const document::Node* length = map.find("properties")->find("max_model_len");
  const document::Node& value = length->find("anyOf")->items().front();
  EXPECT_EQ(value.find("type")->items().back().as_string(), "string");
  EXPECT_EQ(value.find("pattern")->as_string(), "^([0-9]+[KMGT]|[0-9]+(\\.[0-9]+)?[kmgt])$");
}

}  // namespace
}  // namespace ridgeline::scenario

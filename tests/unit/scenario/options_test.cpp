#include "scenario/options.hpp"

#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::scenario {
namespace {

TEST(Options, FindsByPath) {
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

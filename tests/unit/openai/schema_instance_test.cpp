#include "openai/schema_instance.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(SchemaInstance, IsTheSmallestOne) {
  const auto of = [](const char* schema) { return schema_instance(schema).value_or("refused"); };
  EXPECT_EQ(of(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"),
            R"({"a": 0})");
  EXPECT_EQ(of(R"({"const":[1,2]})"), "[1,2]");
  EXPECT_EQ(of(R"({"enum":["x","y"]})"), R"("x")");
  EXPECT_EQ(of(R"({"anyOf":[{"type":"null"},{"type":"string"}]})"), "null");
  EXPECT_EQ(of(R"({"type":"array","items":{"type":"boolean"},"minItems":2})"), "[true, true]");
  EXPECT_EQ(of(R"({"type":"string","minLength":6})"), R"("text text")");
  EXPECT_EQ(of(R"({"type":"string","maxLength":2})"), R"("te")");
  EXPECT_EQ(of(R"({"type":"integer","exclusiveMinimum":3})"), "4");
  EXPECT_EQ(of(R"({"type":"number","maximum":-1.5})"), "-2");
  EXPECT_EQ(of(R"({"$ref":"#/$defs/x","$defs":{"x":{"type":"string"}}})"), R"("text")");
  EXPECT_EQ(of("{}"), "{}");
}

TEST(SchemaInstance, RefusesWhatItCannotMake) {
  EXPECT_FALSE(schema_instance(R"({"pattern":"a+","type":"string"})").has_value());
  EXPECT_FALSE(schema_instance(R"({"not":{}})").has_value());
  EXPECT_FALSE(schema_instance(R"({"$ref":"#"})").has_value());
  EXPECT_FALSE(schema_instance(R"({"$ref":"elsewhere"})").has_value());
  EXPECT_FALSE(schema_instance("[").has_value());
  EXPECT_FALSE(schema_instance("false").has_value());
  EXPECT_FALSE(schema_instance(R"({"type":"array","minItems":100000})").has_value());
}

TEST(SchemaInstance, HasABudgetOfNodes) {
  // Each level asks for the one below ten times.
  std::string schema = R"({"$defs":{"l0":{"type":"null"})";
  for (int level = 1; level <= 6; ++level) {
    schema += R"(,"l)" + std::to_string(level) +
              R"(":{"type":"array","minItems":10,"items":{"$ref":"#/$defs/l)" +
              std::to_string(level - 1) + R"("}})";
  }
  schema += R"(},"$ref":"#/$defs/l6"})";
  EXPECT_FALSE(schema_instance(schema).has_value());
}

}  // namespace
}  // namespace ridgeline::openai

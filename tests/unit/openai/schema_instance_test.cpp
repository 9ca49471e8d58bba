#include "openai/schema_instance.hpp"

#include <chrono>
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

/// An object with so many properties, all of them required.
std::string wide_schema(int properties) {
  std::string names;
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; i < properties; ++i) {
    const std::string name = "\"p" + std::to_string(i) + "\"";
    schema += (i > 0 ? "," : "") + name + R"(:{"type":"null"})";
    names += (i > 0 ? "," : "") + name;
  }
  return schema + R"(},"required":[)" + names + "]}";
}

TEST(SchemaInstance, TakesTimeInProportionToTheSchema) {
  // 2^16 properties for each of 2^13 look-ups would be half a billion steps, some seconds.
  const auto begin = std::chrono::steady_clock::now();
  // 9,000 times quotes, a letter, 34,890 digits in all and ": null", two braces, 8,999 times ", ".
  EXPECT_EQ(schema_instance(wide_schema(9'000)).value().size(),
            9'000U * 9 + 34'890 + 2 + 2 * 8'999);
  EXPECT_FALSE(schema_instance(wide_schema(65'536)).has_value());
  // A wide object again and again: of the list's items, and behind references.
  std::string wide = wide_schema(60'000);
  wide.resize(wide.rfind("\"required\""));
  EXPECT_FALSE(schema_instance(R"({"type":"array","minItems":1000,"items":)" + wide +
                               R"("required":["p59999"]}})")
                   .has_value());
  std::string references =
      R"({"anyOf":[{"type":"array","minItems":900,"items":{"$ref":"#/$defs/p"}}],"$defs":{)";
  for (int i = 0; i < 60'000; ++i) {
    references += "\"d" + std::to_string(i) + R"(":{"type":"null"},)";
  }
  EXPECT_TRUE(schema_instance(references + R"("p":{"$ref":"#/$defs/d59999"}}})").has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(SchemaInstance, IsBounded) {
  // A constant of 2 KB a thousand times.
  const std::string constant = R"({"const":")" + std::string(2'000, 'x') + R"("})";
  EXPECT_FALSE(
      schema_instance(R"({"type":"array","minItems":1000,"items":)" + constant + "}").has_value());
  EXPECT_TRUE(
      schema_instance(R"({"type":"array","minItems":400,"items":)" + constant + "}").has_value());
}

TEST(SchemaInstance, FollowsReferencesIntoObjectsAndLists) {
  const auto of = [](const char* schema) { return schema_instance(schema).value_or("refused"); };
  EXPECT_EQ(of(R"({"$ref":"#/anyOf/1","anyOf":[{"type":"null"},{"type":"boolean"}]})"), "true");
  EXPECT_EQ(of(R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"boolean"}}})"), "true");
  EXPECT_EQ(of(R"({"$ref":"#/x","x":{"type":"boolean"}})"), "true");
  EXPECT_EQ(of(R"({"$ref":"#/$defs/no","$defs":{}})"), "refused");
}

}  // namespace
}  // namespace ridgeline::openai

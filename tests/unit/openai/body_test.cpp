#include "openai/body.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(Body, IsAnObject) {
  EXPECT_TRUE(Body::parse("{}").has_value());
  for (const char* const text : {"", "[]", "null", "1", "{", "{\"a\":}", "{\"a\": \"\xFF\"}"}) {
    const auto body = Body::parse(text);
    ASSERT_FALSE(body.has_value()) << text;
    EXPECT_EQ(body.error().status, 400);
  }
}

TEST(Body, IsNotDeep) {
  const std::string deep =
      "{\"a\":" + std::string(kDeepestBody, '[') + std::string(kDeepestBody, ']') + "}";
  EXPECT_FALSE(Body::parse(deep).has_value());
}

TEST(BodyReader, NotesTheFirstProblem) {
  const auto body = Body::parse(R"({"a":"x","b":[1,"y"],"c":true,"d":["p","q"],"e":null})");
  ASSERT_TRUE(body.has_value());
  BodyReader reader;
  std::vector<std::string> texts;
  reader.texts("d", body->object()["d"].value(), texts);
  EXPECT_EQ(texts.size(), 2U);
  std::optional<std::int64_t> number = 3;
  reader.integer("e", body->object()["e"].value(), number);
  EXPECT_FALSE(number.has_value());
  bool flag = false;
  reader.boolean("c", body->object()["c"].value(), flag);
  EXPECT_TRUE(flag);
  EXPECT_TRUE(reader.is_sound());
  reader.integer("a", body->object()["a"].value(), number);
  EXPECT_FALSE(reader.is_sound());
  std::vector<std::int64_t> numbers;
  reader.integers("b", body->object()["b"].value(), numbers);
  EXPECT_EQ(reader.error()->param, "body.a");
}

}  // namespace
}  // namespace ridgeline::openai

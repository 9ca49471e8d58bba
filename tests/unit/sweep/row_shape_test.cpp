#include "sweep/row_shape.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sweep/flat_json.hpp"

namespace ridgeline::sweep {
namespace {

std::vector<std::string> flattened(std::string_view json) {
  std::vector<std::string> texts;
  flatten(json, [&](std::string_view, std::string_view value) { texts.emplace_back(value); });
  return texts;
}

/// Values of `json` by the shape of another line; the word alone where it has not that shape.
std::vector<std::string> by_shape(std::string_view other, std::string_view json) {
  const auto shape = RowShape::of(other);
  std::vector<std::string_view> values;
  if (!shape || !shape->values(json, values)) {
    return {"another"};
  }
  return {values.begin(), values.end()};
}

TEST(RowShape, GivesTheTextsOfFlatten) {
  const std::string_view first =
      R"({"ordinal":3,"point":{"gpu":"h100"},"result":{"p":{"p99":1.5},"n":null,"w":[],"e":{}}})";
  const std::string_view second =
      R"({"ordinal":17,"point":{"gpu":"a, b:{}"},"result":{"p":{"p99":null},"n":-2e9,"w":[],"e":{}}})";
  EXPECT_EQ(RowShape::of(first)->size(), 5U);
  EXPECT_EQ(by_shape(first, first), flattened(first));
  EXPECT_EQ(by_shape(first, second), flattened(second));
  EXPECT_EQ(by_shape(second, first), flattened(first));
}

TEST(RowShape, IsAnothersWhereKeysOrMapsDiffer) {
  const std::string_view row = R"({"a":1,"b":{"c":"d"},"e":[]})";
  for (const std::string_view other : {R"({"a":1,"b":{"x":"d"},"e":[]})",
                                       R"({"a":1,"b":null,"e":[]})",
                                       R"({"a":1,"b":{"c":"d"},"e":["f"]})",
                                       R"({"a":1,"b":{"c":"d\""},"e":[]})",
                                       R"({"a":1,"b":{"c":"d"},"e":[],"g":1})",
                                       R"({"a":1,"b":{"c":{}},"e":[]})",
                                       R"({"a":1)",
                                       ""}) {
    EXPECT_EQ(by_shape(row, other), std::vector<std::string>{"another"}) << other;
  }
}

TEST(RowShape, IsNoneOfListsAndEscapes) {
  EXPECT_FALSE(RowShape::of(R"({"a":[1]})"));
  EXPECT_FALSE(RowShape::of(R"({"a":"\n"})"));
  EXPECT_FALSE(RowShape::of(R"({"a\"b":1})"));
}

}  // namespace
}  // namespace ridgeline::sweep

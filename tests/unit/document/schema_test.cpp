#include "document/schema.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

constexpr std::string_view kSchema = R"({
  "type": "object",
  "required": ["count"],
  "properties": {
    "count": {"$ref": "#/definitions/count"},
    "share": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "length": {"type": "number", "exclusiveMinimum": 0},
    "kind": {"enum": ["memory", "compute"]},
    "version": {"const": 1},
    "counts": {"type": "array", "items": {"$ref": "#/definitions/count"}},
    "either": {"anyOf": [{"$ref": "#/definitions/count"}, {"type": "null"}]},
    "rates": {"type": "object", "additionalProperties": {"type": "number"}}
  },
  "definitions": {"count": {"type": "integer", "minimum": 0}}
})";

/// What is wrong with a text, or nothing.
std::string problem(const std::string& text, Missing missing = Missing::kRefuse) {
  const Node schema = *parse_json(kSchema, "schema");
  const Node value = *parse_json(text, "file.json");
  const auto fits = check_schema(value, schema, schema, missing, {}, "file.json");
  return fits ? std::string() : core::to_string(fits.error().front());
}

TEST(Schema, TakesWhatItDescribes) {
  EXPECT_EQ(problem(R"({"count": 3, "share": null, "length": 0.5, "kind": "memory", "version": 1,
                        "counts": [0, 1], "either": null, "rates": {"a": 1, "b": 2.5}})"),
            "");
  EXPECT_EQ(problem(R"({"count": 3, "share": 0.5, "either": 2, "of_later_versions": "x"})"), "");
}

TEST(Schema, NamesTheFieldWhatWasFoundAndWhatWasExpected) {
  EXPECT_EQ(problem("[]"), "file.json: found a list, expected object");
  EXPECT_EQ(problem(R"({"count": "3"})"), "file.json: count: found \"3\", expected integer");
  EXPECT_EQ(problem(R"({"count": -1})"), "file.json: count: found -1, expected 0 or more");
  EXPECT_EQ(problem(R"({"count": 1, "share": 2})"),
            "file.json: share: found 2, expected 1 or less");
  EXPECT_EQ(problem(R"({"count": 1, "share": "x"})"),
            "file.json: share: found \"x\", expected number or null");
  EXPECT_EQ(problem(R"({"count": 1, "length": 0})"),
            "file.json: length: found 0, expected more than 0");
  EXPECT_EQ(problem(R"({"count": 1, "kind": "disk"})"),
            "file.json: kind: found \"disk\", expected \"memory\", \"compute\"");
  EXPECT_EQ(problem(R"({"count": 1, "version": 2})"), "file.json: version: found 2, expected 1");
  EXPECT_EQ(problem(R"({"count": 1, "counts": [1, 2, null]})"),
            "file.json: counts[2]: found null, expected integer");
  EXPECT_EQ(problem(R"({"count": 1, "either": "x"})"),
            "file.json: either: found \"x\", expected integer");
  EXPECT_EQ(problem(R"({"count": 1, "rates": {"a": "fast"}})"),
            "file.json: rates.a: found \"fast\", expected number");
}

TEST(Schema, IntegersAreThoseOfSixtyFourBits) {
  EXPECT_EQ(problem(R"({"count": 1e30})"), "file.json: count: found 1e+30, expected integer");
}

TEST(Schema, MissingKeysAreRefusedWhereTheCallerSaysSo) {
  EXPECT_EQ(problem("{}"), "file.json: count: is missing");
  EXPECT_EQ(problem("{}", Missing::kAllow), "");
}

}  // namespace
}  // namespace ridgeline::document

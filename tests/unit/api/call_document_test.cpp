#include "api/call_document.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::api {
namespace {

CallDocument document_of(const std::string& json) {
  return CallDocument(document::parse_json(json, "").value());
}

TEST(CallDocument, KeysOfTheVerbAreTakenAndTheRestIsTheScenario) {
  auto document = document_of(
      R"({"files": ["a", "b"], "threads": 2, "samples": false, "decode": "1", "gpu": "h100"})");
  EXPECT_EQ(document.take_texts("files"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(document.take_count("threads", 1, 4), 2);
  EXPECT_EQ(document.take_count("histories", 3, 4), 3);
  EXPECT_FALSE(document.take_bool("samples", true));
  EXPECT_EQ(document.take_text("decode"), "1");
  EXPECT_TRUE(document.errors().empty());
  ASSERT_EQ(document.scenario().members().size(), 1U);
  document.end();
  ASSERT_EQ(document.errors().size(), 1U);
  EXPECT_EQ(document.errors().front().field, "gpu");
}

TEST(CallDocument, EachWrongKindIsNoted) {
  auto document = document_of(R"({"files": "a", "threads": 0, "histories": 9, "decode": 3})");
  EXPECT_TRUE(document.take_texts("files").empty());
  EXPECT_EQ(document.take_count("threads", 1, 4), 1);
  EXPECT_EQ(document.take_count("histories", 3, 4), 3);
  EXPECT_EQ(document.take_text("decode"), "");
  ASSERT_EQ(document.errors().size(), 4U);
  EXPECT_EQ(document.errors()[1].message, "found 0, expected a whole number from 1 to 4");
}

}  // namespace
}  // namespace ridgeline::api

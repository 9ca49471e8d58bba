#include "verbs/request.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::verbs {
namespace {

Request request_of(const std::string& json) {
  return Request(document::parse_json(json, "").value());
}

TEST(Request, KeysOfTheVerbAreTakenAndTheRestIsTheScenario) {
  auto request = request_of(
      R"({"files": ["a", "b"], "threads": 2, "samples": false, "decode": "1", "gpu": "h100"})");
  EXPECT_EQ(request.take_texts("files"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.take_count("threads", 1, 4), 2);
  EXPECT_EQ(request.take_count("histories", 3, 4), 3);
  EXPECT_FALSE(request.take_bool("samples", true));
  EXPECT_EQ(request.take_text("decode"), "1");
  EXPECT_TRUE(request.errors().empty());
  ASSERT_EQ(request.document().members().size(), 1U);
  request.end();
  ASSERT_EQ(request.errors().size(), 1U);
  EXPECT_EQ(request.errors().front().field, "gpu");
}

TEST(Request, EachWrongKindIsNoted) {
  auto request = request_of(R"({"files": "a", "threads": 0, "histories": 9, "decode": 3})");
  EXPECT_TRUE(request.take_texts("files").empty());
  EXPECT_EQ(request.take_count("threads", 1, 4), 1);
  EXPECT_EQ(request.take_count("histories", 3, 4), 3);
  EXPECT_EQ(request.take_text("decode"), "");
  ASSERT_EQ(request.errors().size(), 4U);
  EXPECT_EQ(request.errors()[1].message, "found 0, expected a whole number from 1 to 4");
}

}  // namespace
}  // namespace ridgeline::verbs

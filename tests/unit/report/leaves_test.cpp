#include "report/leaves.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Leaves, HaveTheirPathsInTheOrderOfTheDocument) {
  const auto tree =
      document::parse_json(R"({"b": {"c": "text", "d": [1, 2]}, "a": null, "e": {}})", "test");
  EXPECT_THAT(
      leaves_of(*tree),
      ElementsAre(Pair("b.c", "text"), Pair("b.d", "[1,2]"), Pair("a", "null"), Pair("e", "{}")));
}

}  // namespace
}  // namespace ridgeline::report

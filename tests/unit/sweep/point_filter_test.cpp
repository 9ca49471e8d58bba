#include "sweep/point_filter.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "sweep/axis_values.hpp"
#include "unit/sweep/documents.hpp"

namespace ridgeline::sweep {
namespace {

Axis axis(std::string path, std::string_view values) {
  return {.path = std::move(path), .values = yaml(values).items(), .where = {}};
}

TEST(ChoiceOf, CountsWithTheLastAxisFastest) {
  const std::vector<Axis> axes = {axis("a", "[1, 2]"), axis("b", "[1, 2, 3]")};
  std::vector<std::size_t> choice;
  choice_of(4, axes, choice);
  EXPECT_THAT(choice, testing::ElementsAre(1U, 1U));
}

TEST(PointFilter, LeavesOutWhatMeetsAllConditionsOfOneEntry) {
  const std::vector<Axis> axes = {axis("a", "[1, 2]"), axis("b", "[1, 2, 3]")};
  const document::Node exclude = yaml("[{a: 2, b: [1, 3]}]");
  const auto filter = PointFilter::make(axes, &exclude, {}, {});
  ASSERT_TRUE(filter);
  EXPECT_FALSE(filter->keeps_all());
  EXPECT_TRUE(filter->keeps({0, 0}));
  EXPECT_FALSE(filter->keeps({1, 0}));
  EXPECT_TRUE(filter->keeps({1, 1}));
  EXPECT_FALSE(filter->keeps({1, 2}));
}

TEST(PointFilter, KeepsAllWithoutExclusions) {
  const std::vector<Axis> axes = {axis("a", "[1, 2]")};
  const auto filter = PointFilter::make(axes, nullptr, {}, {});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->keeps_all());
  EXPECT_TRUE(filter->keeps({1}));
}

}  // namespace
}  // namespace ridgeline::sweep

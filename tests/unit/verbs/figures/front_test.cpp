#include "report/chart/front.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

const std::vector<FrontPoint> kPoints = {{.label = "a", .gpu = "h100", .x = 10.0, .y = 5.0},
                                         {.label = "b", .gpu = "h100", .x = 20.0, .y = 4.0},
                                         {.label = "c", .gpu = "h100", .x = 9.0, .y = 4.0},
                                         {.label = "d", .gpu = "l40s", .x = 5.0, .y = 1.0},
                                         {.label = "e", .gpu = "h100", .x = 20.0, .y = 3.0}};

TEST(Front, IsOfEachGpuApart) {
  EXPECT_EQ(on_front(kPoints, false), (std::vector<bool>{true, true, false, true, false}));
  // Where less of x is better, the slowest point serves no more than others.
  EXPECT_EQ(on_front(kPoints, true), (std::vector<bool>{true, false, true, true, false}));
}

TEST(Front, DrawsDominatedPointsToo) {
  const Figure figure = front(kPoints, {.id = "f", .x_name = "x", .y_name = "y"});
  EXPECT_EQ(figure.rows.size(), 3U);
  EXPECT_EQ(verbs::fixtures::count(figure.marks, "<title>"), 5);
}

TEST(Front, PointsWithoutANumberAreLeftOut) {
  EXPECT_TRUE(front({{.label = "a", .gpu = "g", .x = 0.0, .y = 1.0}}, {.id = "f"}).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures

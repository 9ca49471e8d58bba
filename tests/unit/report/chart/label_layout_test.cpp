#include "report/chart/label_layout.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

constexpr Box kArea = {.left = 0.0, .top = 0.0, .right = 400.0, .bottom = 300.0};

Anchor anchor(double x, double y) {
  return {.x = x, .y = y, .radius = 5.0, .label_width = 60.0, .label_height = 12.0};
}

TEST(LabelLayout, PrefersTheRightSide) {
  LabelLayout layout(kArea);
  const auto placed = layout.place(anchor(100.0, 100.0));
  ASSERT_TRUE(placed.has_value());
  // Radius 5 and a gap of 4: from x = 109, centred on y = 100.
  EXPECT_DOUBLE_EQ(placed->box.left, 109.0);
  EXPECT_DOUBLE_EQ(placed->box.right, 169.0);
  EXPECT_DOUBLE_EQ(placed->box.top, 94.0);
  EXPECT_DOUBLE_EQ(placed->box.bottom, 106.0);
  EXPECT_DOUBLE_EQ(placed->leader.length(), 4.0);
}

TEST(LabelLayout, GoesLeftWhereTheRightIsTaken) {
  LabelLayout layout(kArea);
  layout.block({.left = 120.0, .top = 90.0, .right = 130.0, .bottom = 110.0});
  const auto placed = layout.place(anchor(100.0, 100.0));
  ASSERT_TRUE(placed.has_value());
  EXPECT_DOUBLE_EQ(placed->box.right, 91.0);
}

TEST(LabelLayout, StaysInsideTheArea) {
  for (const auto& [x, y] : {std::pair(0.0, 0.0), std::pair(400.0, 300.0), std::pair(399.0, 2.0)}) {
    LabelLayout layout(kArea);
    const auto placed = layout.place(anchor(x, y));
    ASSERT_TRUE(placed.has_value());
    EXPECT_TRUE(kArea.holds(placed->box));
  }
}

TEST(LabelLayout, KeepsOffLines) {
  LabelLayout layout(kArea);
  layout.block_line(100.0, 0.0, 400.0, 300.0);
  const auto placed = layout.place(anchor(200.0, 100.0));
  ASSERT_TRUE(placed.has_value());
  // The line is y = x - 100: no corner of the label may lie on the other side than the rest.
  const Box& box = placed->box;
  const bool above = box.bottom < box.left - 100.0;
  const bool below = box.top > box.right - 100.0;
  EXPECT_TRUE(above || below);
}

TEST(LabelLayout, SaysSoWhereThereIsNoRoom) {
  LabelLayout narrow({.left = 0.0, .top = 0.0, .right = 50.0, .bottom = 300.0});
  EXPECT_FALSE(narrow.place(anchor(25.0, 100.0)).has_value());
  LabelLayout full(kArea);
  full.block(kArea);
  EXPECT_FALSE(full.place(anchor(100.0, 100.0)).has_value());
}

TEST(LabelLayout, NothingEverOverlaps) {
  std::uint64_t state = 1;
  const auto next = [&](double limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 40U) / 16777216.0 * limit;
  };
  for (int round = 0; round < 50; ++round) {
    LabelLayout layout(kArea);
    std::vector<Box> boxes;
    for (int i = 0; i < 40; ++i) {
      const Anchor point = anchor(next(400.0), next(300.0));
      const Box mark = {.left = point.x - 5.0,
                        .top = point.y - 5.0,
                        .right = point.x + 5.0,
                        .bottom = point.y + 5.0};
      bool covered = false;
      for (const Box& box : boxes) {
        covered = covered || box.overlaps(mark);
      }
      if (covered) {
        continue;
      }
      layout.block(mark);
      boxes.push_back(mark);
      if (const auto placed = layout.place(point)) {
        for (const Box& box : boxes) {
          EXPECT_FALSE(box.overlaps(placed->box));
        }
        boxes.push_back(placed->box);
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::report

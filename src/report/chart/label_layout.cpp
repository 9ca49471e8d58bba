#include "report/chart/label_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace ridgeline::report {
namespace {

struct Direction {
  double x;
  double y;
};

// Right and left read best; then the diagonals (cos and sin of 30, 45 and 60 degrees), then above
// and below.
constexpr std::array<Direction, 16> kDirections = {{{1.0, 0.0},
                                                    {-1.0, 0.0},
                                                    {0.866, -0.5},
                                                    {0.866, 0.5},
                                                    {-0.866, -0.5},
                                                    {-0.866, 0.5},
                                                    {0.707, -0.707},
                                                    {0.707, 0.707},
                                                    {-0.707, -0.707},
                                                    {-0.707, 0.707},
                                                    {0.5, -0.866},
                                                    {0.5, 0.866},
                                                    {-0.5, -0.866},
                                                    {-0.5, 0.866},
                                                    {0.0, -1.0},
                                                    {0.0, 1.0}}};
constexpr double kGap = 4.0;
constexpr double kFirstStep = 8.0;
constexpr double kStepGrowth = 1.15;
constexpr double kFarthest = 400.0;

/// The box of a label whose near edge lies at (x, y), seen from the anchor in that direction.
Box beside(double x, double y, const Direction& direction, double width, double height) {
  double left = x - width / 2.0;
  if (direction.x > 0.1) {
    left = x;
  } else if (direction.x < -0.1) {
    left = x - width;
  }
  const double top = y - height / 2.0 + direction.y * height / 2.0;
  return {.left = left, .top = top, .right = left + width, .bottom = top + height};
}

/// A box that sticks out at a side is moved back in, as far as it fits.
Box pushed_inside(const Box& box, const Box& area) {
  const double shift = std::max(area.left - box.left, 0.0) - std::max(box.right - area.right, 0.0);
  return {
      .left = box.left + shift, .top = box.top, .right = box.right + shift, .bottom = box.bottom};
}

/// Points along a line, close enough together that no text fits between them.
template <class Visit>
void walk(const Leader& line, Visit visit) {
  constexpr double kPiece = 4.0;
  const auto pieces = static_cast<int>(std::ceil(line.length() / kPiece)) + 1;
  for (int i = 0; i <= pieces; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(pieces);
    visit(line.x1 + (line.x2 - line.x1) * t, line.y1 + (line.y2 - line.y1) * t);
  }
}

Leader leader_to(const Box& box, const Anchor& anchor) {
  Leader leader{.x1 = anchor.x,
                .y1 = anchor.y,
                .x2 = std::clamp(anchor.x, box.left, box.right),
                .y2 = std::clamp(anchor.y, box.top, box.bottom)};
  const double length = leader.length();
  if (length > 0.0) {
    leader.x1 += (leader.x2 - anchor.x) * anchor.radius / length;
    leader.y1 += (leader.y2 - anchor.y) * anchor.radius / length;
  }
  return leader;
}

}  // namespace

double Leader::length() const {
  return std::sqrt((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1));
}

void LabelLayout::block_line(double x1, double y1, double x2, double y2) {
  constexpr double kClearance = 2.0;
  walk({.x1 = x1, .y1 = y1, .x2 = x2, .y2 = y2}, [&](double x, double y) {
    block({.left = x - kClearance,
           .top = y - kClearance,
           .right = x + kClearance,
           .bottom = y + kClearance});
  });
}

bool LabelLayout::is_free(const Box& box) const {
  return area_.holds(box) && std::none_of(blocked_.begin(), blocked_.end(), [&](const Box& other) {
           return other.overlaps(box);
         });
}

bool LabelLayout::crosses_label(const Leader& leader) const {
  bool crosses = false;
  walk(leader, [&](double x, double y) {
    const Box point{.left = x, .top = y, .right = x, .bottom = y};
    crosses = crosses || std::any_of(labels_.begin(), labels_.end(), [&](const Box& label) {
                return label.holds(point);
              });
  });
  return crosses;
}

std::optional<PlacedLabel> LabelLayout::place(const Anchor& anchor) {
  double distance = anchor.radius + kGap;
  double step = kFirstStep;
  while (distance < kFarthest) {
    for (const Direction& direction : kDirections) {
      const Box box = pushed_inside(beside(anchor.x + direction.x * distance,
                                           anchor.y + direction.y * distance,
                                           direction,
                                           anchor.label_width,
                                           anchor.label_height),
                                    area_);
      const Leader leader = leader_to(box, anchor);
      if (is_free(box) && !crosses_label(leader)) {
        block(box);
        labels_.push_back(box);
        block_line(leader.x1, leader.y1, leader.x2, leader.y2);
        return PlacedLabel{.box = box, .leader = leader};
      }
    }
    distance += step;
    step *= kStepGrowth;
  }
  return std::nullopt;
}

}  // namespace ridgeline::report

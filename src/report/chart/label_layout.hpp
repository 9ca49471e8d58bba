#pragma once

#include <optional>
#include <vector>

namespace ridgeline::report {

/// A rectangle of a drawing, y downwards.
struct Box {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;

  [[nodiscard]] bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  [[nodiscard]] bool holds(const Box& other) const {
    return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
  }
};

/// A point that wants a label beside it.
struct Anchor {
  double x = 0.0;
  double y = 0.0;
  double radius = 0.0;  ///< Radius of the mark drawn there.
  double label_width = 0.0;
  double label_height = 0.0;
};

/// The line between a mark and the near edge of its label.
struct Leader {
  double x1 = 0.0;
  double y1 = 0.0;
  double x2 = 0.0;
  double y2 = 0.0;

  [[nodiscard]] double length() const;
};

struct PlacedLabel {
  Box box;
  Leader leader;
};

/// Places labels one after the other where nothing else is: close to their anchor if there is room,
/// farther out with a leader line otherwise. Leaders do not run through labels.
class LabelLayout {
 public:
  /// Labels stay inside `area`.
  explicit LabelLayout(const Box& area) : area_(area) {}

  /// Keeps labels off a part of the drawing.
  void block(const Box& box) { blocked_.push_back(box); }
  /// Keeps labels off a straight line.
  void block_line(double x1, double y1, double x2, double y2);

  /// Where the label of an anchor goes, and blocks that place; nothing if there is no room.
  [[nodiscard]] std::optional<PlacedLabel> place(const Anchor& anchor);

 private:
  [[nodiscard]] bool is_free(const Box& box) const;
  [[nodiscard]] bool crosses_label(const Leader& leader) const;

  Box area_;
  std::vector<Box> blocked_;
  std::vector<Box> labels_;  ///< Those of blocked_ that hold text.
};

}  // namespace ridgeline::report

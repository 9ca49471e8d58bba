#pragma once

#include <string>
#include <vector>

#include "report/chart/figure.hpp"

namespace ridgeline::report::figures {

/// A deployment among many: what it serves against what a user of it gets.
struct FrontPoint {
  std::string label;  ///< Its settings.
  std::string gpu;    ///< Points of one GPU have one front; may be empty.
  double x = 0.0;
  double y = 0.0;
};

struct FrontAxes {
  std::string id;
  std::string title = {};
  std::string caption = {};
  std::string x_name = {};
  std::string y_name = {};
  bool less_is_better = false;  ///< On the x axis; on the y axis more is better.
};

/// Whether no other point of its GPU is at least as good on both axes, and better on one.
[[nodiscard]] std::vector<bool> on_front(const std::vector<FrontPoint>& points,
                                         bool less_is_better);

/// All points, and a line through each GPU's front with the labels along it. Without a point with
/// both numbers above zero it has no marks.
[[nodiscard]] Figure front(const std::vector<FrontPoint>& points, const FrontAxes& axes);

}  // namespace ridgeline::report::figures

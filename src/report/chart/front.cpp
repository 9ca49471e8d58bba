#include "report/chart/front.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

/// Points that are drawn beside the fronts; of more, every n-th.
constexpr std::size_t kMostPoints = 5000;
/// Rows of the table.
constexpr std::size_t kMostFrontRows = 100;
constexpr double kFrontMark = 3.5;  ///< Half a side.

struct FrontColour {
  std::string_view line;
  std::string_view fill;
};
constexpr std::array<FrontColour, 6> kFrontColours = {{{.line = "la", .fill = "fa"},
                                                       {.line = "lb", .fill = "fb"},
                                                       {.line = "lc", .fill = "fc"},
                                                       {.line = "ld", .fill = "fd"},
                                                       {.line = "le", .fill = "fg"},
                                                       {.line = "lf", .fill = "ff"}}};

void draw_mark(Spot at, std::string_view css_class, const std::string& hint, Canvas& canvas) {
  canvas.bar({.x = at.x - kFrontMark, .y = at.y - kFrontMark},
             {.x = at.x + kFrontMark, .y = at.y + kFrontMark},
             css_class,
             hint);
}

/// Points with both numbers, their GPUs in the order in which they come, and the greatest numbers.
struct Drawable {
  std::vector<FrontPoint> points;
  std::vector<std::string> gpus;
  double most_x = 0.0;
  double most_y = 0.0;
};

Drawable drawable(const std::vector<FrontPoint>& all) {
  Drawable found;
  for (const FrontPoint& point : all) {
    if (point.x > 0.0 && point.y > 0.0) {
      found.points.push_back(point);
      found.most_x = std::max(found.most_x, point.x);
      found.most_y = std::max(found.most_y, point.y);
      if (std::ranges::find(found.gpus, point.gpu) == found.gpus.end()) {
        found.gpus.push_back(point.gpu);
      }
    }
  }
  return found;
}

/// The line of one GPU with its points; labels where they have room.
void draw_front(const std::vector<const FrontPoint*>& line,
                const FrontColour& colour,
                const Scale& x,
                const Scale& y,
                Canvas& canvas) {
  constexpr double kBetweenLabels = 14.0;
  std::vector<Spot> spots;
  double labelled = y.start + 2.0 * kBetweenLabels;
  for (const FrontPoint* const point : line) {
    const Spot spot = {.x = x.pixel(point->x), .y = y.pixel(point->y)};
    spots.push_back(spot);
    draw_mark(spot, colour.fill, point->label, canvas);
    if (spot.y < labelled - kBetweenLabels || spot.y > labelled + kBetweenLabels) {
      const bool is_right = spot.x > (x.start + x.end) / 2.0;
      canvas.text({.x = spot.x + (is_right ? -7.0 : 7.0), .y = spot.y - 6.0},
                  is_right ? "end" : "start",
                  "quiet",
                  point->label);
      labelled = spot.y;
    }
  }
  canvas.path(spots, colour.line);
}

}  // namespace

std::vector<bool> on_front(const std::vector<FrontPoint>& points, bool less_is_better) {
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  // By GPU, then from the best x on, of equals the best y first: a point is on the front where its
  // y is above all before it.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const FrontPoint& one = points[a];
    const FrontPoint& other = points[b];
    if (one.gpu != other.gpu) {
      return one.gpu < other.gpu;
    }
    if (one.x != other.x) {
      return (one.x < other.x) == less_is_better;
    }
    return one.y > other.y;
  });
  std::vector<bool> is_on(points.size(), false);
  double best = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FrontPoint& point = points[order[i]];
    if (i == 0 || points[order[i - 1]].gpu != point.gpu) {
      best = -1.0;
    }
    if (point.y > best) {
      best = point.y;
      is_on[order[i]] = true;
    }
  }
  return is_on;
}

Figure front(const std::vector<FrontPoint>& all, const FrontAxes& axes) {
  constexpr double kTop = 44.0;
  constexpr double kBottom = 420.0;
  Figure figure{.id = axes.id,
                .title = axes.title,
                .caption = axes.caption,
                .head = {"GPU", "settings", axes.x_name, axes.y_name}};
  const auto [points, gpus, most_x, most_y] = drawable(all);
  if (points.empty()) {
    return figure;
  }
  const std::vector<bool> is_on = on_front(points, axes.less_is_better);
  Canvas canvas(kPictureWidth, kBottom + 44.0);
  const Scale x = Scale::from_zero(most_x, kPlotLeft, kPlotRight);
  const Scale y = Scale::from_zero(most_y, kBottom, kTop);
  canvas.axis_left(y, kPlotLeft, kPlotRight);
  canvas.axis_below(x, kBottom, kTop, axes.x_name);
  canvas.text({.x = 4.0, .y = kTop - 12.0}, "start", "quiet", axes.y_name);
  const std::size_t stride = (points.size() - 1) / kMostPoints + 1;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    if (!is_on[i]) {
      draw_mark(
          {.x = x.pixel(points[i].x), .y = y.pixel(points[i].y)}, "fe", points[i].label, canvas);
    }
  }
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    const FrontColour& colour = kFrontColours[gpu % kFrontColours.size()];
    std::vector<const FrontPoint*> line;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (is_on[i] && points[i].gpu == gpus[gpu]) {
        line.push_back(&points[i]);
      }
    }
    std::ranges::stable_sort(line, {}, [](const FrontPoint* point) { return point->x; });
    draw_front(line, colour, x, y, canvas);
    for (const FrontPoint* const point : line) {
      if (figure.rows.size() < kMostFrontRows) {
        figure.rows.push_back(
            {point->gpu, point->label, significant(point->x), significant(point->y)});
      }
    }
    const double key_x = kPlotRight - 150.0 * static_cast<double>(gpus.size() - gpu);
    canvas.line({.x = key_x, .y = 12.0}, {.x = key_x + 22.0, .y = 12.0}, colour.line);
    canvas.text({.x = key_x + 28.0, .y = 16.0}, "start", "", gpus[gpu]);
    figure.description += fmt::format("{}{}: {} of the points on the front.",
                                      figure.description.empty() ? "" : " ",
                                      gpus[gpu],
                                      line.size());
  }
  figure.draw(canvas);
  return figure;
}

}  // namespace ridgeline::report::figures

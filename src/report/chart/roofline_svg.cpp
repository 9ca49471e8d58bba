#include "report/chart/roofline_svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/math.hpp"
#include "report/chart/label_layout.hpp"
#include "report/chart/svg.hpp"
#include "report/format.hpp"

namespace ridgeline::report {
namespace {

constexpr double kWidth = kRooflineWidth;
constexpr double kHeight = kRooflineHeight;
constexpr Box kPlot = {.left = 104.0, .top = 84.0, .right = 932.0, .bottom = 498.0};
constexpr double kLabelHeight = 15.0;
// Average width in a 12 px sans-serif font, rounded up so that labels never turn out wider.
constexpr double kLabelCharWidth = 6.9;
constexpr double kSmallestMark = 4.0;
constexpr double kLargestMark = 22.0;
constexpr double kLog10E = 0.43429448190325182765;  // 1 / ln(10)

// Every rule is of `.roofline`: a page that holds the picture keeps its own look.
constexpr std::string_view kRooflineStyle = R"(
.roofline .page{fill:#ffffff}.roofline .frame{fill:none;stroke:#8c959f}.roofline .grid{stroke:#d8dee4;stroke-width:1}
.roofline text{font:12px system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}
.roofline .title{font-size:16px;font-weight:600}.roofline .quiet{fill:#59636e}
.roofline .roof{fill:none;stroke:#1f2328;stroke-width:2}.roofline .ridge{stroke:#59636e;stroke-dasharray:4 4}
.roofline .leader{stroke:#8c959f;stroke-width:1}.roofline .mark{fill-opacity:.75;stroke:#ffffff;stroke-width:1}
.roofline .decode{fill:#0969da}.roofline .prefill{fill:#bc4c00}.roofline .step{fill:#8250df}
@media screen and (prefers-color-scheme:dark){
.roofline .page{fill:#0d1117}.roofline .frame{stroke:#656c76}.roofline .grid{stroke:#262c36}
.roofline text{fill:#e6edf3}.roofline .quiet{fill:#9198a1}
.roofline .roof{stroke:#e6edf3}.roofline .ridge{stroke:#9198a1}.roofline .leader{stroke:#656c76}
.roofline .mark{stroke:#0d1117}
.roofline .decode{fill:#4493f8}.roofline .prefill{fill:#f0883e}.roofline .step{fill:#ab7df8}}
)";

double log10_of(double value) {
  return core::log(value) * kLog10E;
}

/// One logarithmic axis: exponents of ten mapped to pixels.
struct Axis {
  double lowest = 0.0;
  double highest = 1.0;
  double start = 0.0;
  double end = 1.0;

  [[nodiscard]] double pixel(double value) const { return pixel_of_log(log10_of(value)); }
  [[nodiscard]] double pixel_of_log(double exponent) const {
    return start + (end - start) * (exponent - lowest) / (highest - lowest);
  }
  [[nodiscard]] double pixels_per_decade() const {
    return std::abs(end - start) / (highest - lowest);
  }
  [[nodiscard]] int first_decade() const { return static_cast<int>(std::ceil(lowest)); }
  [[nodiscard]] int last_decade() const { return static_cast<int>(std::floor(highest)); }
};

/// An axis that keeps its values clear of the edges and spans at least two decades.
Axis make_axis(double lowest, double highest, double start, double end) {
  constexpr double kMargin = 0.35;  // of a decade
  constexpr double kLeastSpan = 2.0;
  Axis axis{.lowest = log10_of(lowest) - kMargin,
            .highest = log10_of(highest) + kMargin,
            .start = start,
            .end = end};
  axis.lowest = std::min(axis.lowest, axis.highest - kLeastSpan);
  return axis;
}

/// An operator with a place on the chart.
struct RooflinePoint {
  const RooflinePart* part = nullptr;
  double intensity = 0.0;
  double achieved = 0.0;  ///< FLOP per second.
  double share = 0.0;     ///< Share of the step's time.
  double x = 0.0;
  double y = 0.0;
  double radius = 0.0;
};

/// Points too close for a label each: they share one, with a line per point.
struct Cluster {
  std::vector<const RooflinePoint*> points;  ///< The largest first.

  [[nodiscard]] bool takes(const RooflinePoint& point) const {
    constexpr double kApart = 10.0;  // pixels between the edges of two marks
    return std::any_of(points.begin(), points.end(), [&](const RooflinePoint* other) {
      const double dx = point.x - other->x;
      const double dy = point.y - other->y;
      const double reach = point.radius + other->radius + kApart;
      return dx * dx + dy * dy < reach * reach;
    });
  }

  /// A line per point; a crowd ends in a sum.
  [[nodiscard]] std::vector<std::string> lines() const {
    constexpr std::size_t kMostLines = 12;
    const std::size_t named = points.size() <= kMostLines ? points.size() : kMostLines - 1;
    std::vector<std::string> text;
    text.reserve(kMostLines);
    for (std::size_t i = 0; i < named; ++i) {
      text.push_back(fmt::format("{} {}", points[i]->part->name, percent(points[i]->share)));
    }
    if (named < points.size()) {
      double rest = 0.0;
      for (std::size_t i = named; i < points.size(); ++i) {
        rest += points[i]->share;
      }
      text.push_back(fmt::format("{} more {}", points.size() - named, percent(rest)));
    }
    return text;
  }
};

std::string_view phase_class(std::string_view phase) {
  return phase == "prefill" || phase == "decode" ? phase : std::string_view("step");
}

/// "100 G" for 1e11, and so on.
std::string with_prefix(double value) {
  constexpr std::array<std::pair<double, const char*>, 5> kPrefixes = {
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [factor, prefix] : kPrefixes) {
    if (value >= factor * 0.9995) {
      return fmt::format("{:.3g} {}", value / factor, prefix);
    }
  }
  return fmt::format("{:.3g} ", value);
}

std::string text_svg(double x,
                     double y,
                     std::string_view anchor,
                     std::string_view css_class,
                     std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x,
                     y,
                     anchor,
                     css_class,
                     xml_escaped(text));
}

std::string line_svg(double x1, double y1, double x2, double y2, std::string_view css_class) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n",
      x1,
      y1,
      x2,
      y2,
      css_class);
}

/// A circle for decode, a square for prefill, a diamond for what both share: never colour alone.
std::string mark_svg(double x, double y, double r, std::string_view phase) {
  const std::string_view css_class = phase_class(phase);
  if (css_class == "decode") {
    return fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"mark decode\"/>\n", x, y, r);
  }
  constexpr double kHalfSide = 0.886;  // sqrt(pi) / 2: the area of the circle
  if (css_class == "prefill") {
    const double half = r * kHalfSide;
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "class=\"mark prefill\"/>\n",
        x - half,
        y - half,
        2.0 * half,
        2.0 * half);
  }
  constexpr double kHalfDiagonal = 1.253;  // sqrt(pi / 2): the same area again
  const double half = r * kHalfDiagonal;
  return fmt::format(
      "<path d=\"M{0:.1f} {1:.1f}L{2:.1f} {3:.1f}L{0:.1f} {4:.1f}L{5:.1f} {3:.1f}z\" "
      "class=\"mark step\"/>\n",
      x,
      y - half,
      x + half,
      y,
      y + half,
      x - half);
}

class Chart {
 public:
  Chart(const Roofline& roofline, const std::vector<RooflinePart>& parts)
      : roofline_(roofline), layout_(kPlot) {
    RIDGELINE_CHECK(
        !roofline.peaks.empty() && roofline.peaks.front().peak > 0.0 && roofline.bandwidth > 0.0,
        "a roofline needs a peak and a bandwidth");
    collect(parts);
    scale();
  }

  /// All but the frame of a file, the style with it.
  [[nodiscard]] std::string marks() {
    std::string svg = fmt::format("<style>{}</style>\n", kRooflineStyle);
    svg += text_svg(kPlot.left, 34.0, "start", "title", roofline_.title);
    svg += text_svg(kPlot.left, 56.0, "start", "quiet", roofline_.subtitle);
    svg += grid();
    svg += roof();
    svg += points();
    svg += ceilings();
    return svg + legend();
  }

 private:
  void collect(const std::vector<RooflinePart>& parts) {
    double total = 0.0;
    for (const auto& part : parts) {
      total += std::max(part.seconds, 0.0);
    }
    for (const auto& part : parts) {
      if (part.flops > 0.0 && part.bytes > 0.0 && part.seconds > 0.0) {
        points_.push_back({.part = &part,
                           .intensity = part.flops / part.bytes,
                           .achieved = part.flops / part.seconds,
                           .share = part.seconds / total});
      } else {
        unplaced_.push_back(&part);
        unplaced_share_ += total > 0.0 ? std::max(part.seconds, 0.0) / total : 0.0;
      }
    }
    std::stable_sort(
        points_.begin(), points_.end(), [](const RooflinePoint& a, const RooflinePoint& b) {
          return a.share > b.share;
        });
  }

  void scale() {
    const auto& peaks = roofline_.peaks;
    double least_x = ridge_of(peaks.front());
    double most_x = ridge_of(peaks.back());
    double least_y = peaks.front().peak;
    double most_y = peaks.back().peak;
    for (const RooflinePoint& point : points_) {
      least_x = std::min(least_x, point.intensity);
      most_x = std::max(most_x, point.intensity);
      least_y = std::min(least_y, point.achieved);
      most_y = std::max(most_y, point.achieved);
    }
    x_ = make_axis(least_x, most_x, kPlot.left, kPlot.right);
    y_ = make_axis(least_y, most_y, kPlot.bottom, kPlot.top);
    for (RooflinePoint& point : points_) {
      point.x = x_.pixel(point.intensity);
      point.y = y_.pixel(point.achieved);
      point.radius = std::max(kSmallestMark, kLargestMark * std::sqrt(point.share));
    }
  }

  [[nodiscard]] std::string grid() const {
    std::string svg;
    for (int decade = x_.first_decade(); decade <= x_.last_decade(); ++decade) {
      const double x = x_.pixel_of_log(decade);
      svg += line_svg(x, kPlot.top, x, kPlot.bottom, "grid");
      svg += text_svg(
          x, kPlot.bottom + 18.0, "middle", "quiet", fmt::format("{:g}", core::pow(10.0, decade)));
    }
    for (int decade = y_.first_decade(); decade <= y_.last_decade(); ++decade) {
      const double y = y_.pixel_of_log(decade);
      svg += line_svg(kPlot.left, y, kPlot.right, y, "grid");
      svg += text_svg(kPlot.left - 8.0,
                      y + 4.0,
                      "end",
                      "quiet",
                      with_prefix(core::pow(10.0, decade)) + "FLOP/s");
    }
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"frame\"/>\n",
        kPlot.left,
        kPlot.top,
        kPlot.right - kPlot.left,
        kPlot.bottom - kPlot.top);
    return svg + text_svg((kPlot.left + kPlot.right) / 2.0,
                          kPlot.bottom + 38.0,
                          "middle",
                          "",
                          "arithmetic intensity (FLOP per byte)");
  }

  /// FLOP per byte at which a roof's slope meets its peak.
  [[nodiscard]] double ridge_of(const RooflinePeak& format) const {
    return format.peak / roofline_.bandwidth;
  }

  /// The slope of the memory from the edge of the plot up, and from it a ceiling per format to the
  /// other edge. On log-log axes the slope rises one decade per decade; it leaves the plot left or
  /// at the bottom.
  [[nodiscard]] std::string roof() {
    std::string svg;
    for (const auto& format : roofline_.peaks) {
      corners_.push_back({.x = x_.pixel(ridge_of(format)), .y = y_.pixel(format.peak)});
    }
    const double decades = std::min((corners_.front().x - kPlot.left) / x_.pixels_per_decade(),
                                    (kPlot.bottom - corners_.front().y) / y_.pixels_per_decade());
    foot_ = {.x = corners_.front().x - decades * x_.pixels_per_decade(),
             .y = corners_.front().y + decades * y_.pixels_per_decade()};
    Corner from = foot_;
    for (const Corner& corner : corners_) {
      layout_.block_line(from.x, from.y, corner.x, corner.y);
      layout_.block_line(corner.x, corner.y, kPlot.right, corner.y);
      layout_.block_line(corner.x, corner.y, corner.x, kPlot.bottom);
      svg += line_svg(corner.x, corner.y, corner.x, kPlot.bottom, "ridge") +
             fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}\"/>\n",
                         from.x,
                         from.y,
                         corner.x,
                         corner.y,
                         kPlot.right);
      from = corner;
    }
    return svg;
  }

  /// What the lines are, where the operators left room.
  [[nodiscard]] std::string ceilings() {
    constexpr double kAboveAxis = 14.0;
    constexpr double kFromEdge = 130.0;
    const Corner& first = corners_.front();
    std::string svg =
        label({.x = (2.0 * foot_.x + first.x) / 3.0, .y = (2.0 * foot_.y + first.y) / 3.0},
              {"memory " + with_prefix(roofline_.bandwidth) + "B/s"},
              "quiet");
    for (std::size_t i = 0; i < corners_.size(); ++i) {
      const auto& format = roofline_.peaks[i];
      svg += label({.x = std::max(kPlot.right - kFromEdge, corners_[i].x), .y = corners_[i].y},
                   {format.format + " peak " + with_prefix(format.peak) + "FLOP/s"},
                   "quiet");
      svg += label({.x = corners_[i].x, .y = kPlot.bottom - kAboveAxis},
                   {fmt::format("{} ridge {:.3g} FLOP/byte", format.format, ridge_of(format))},
                   "quiet");
    }
    return svg;
  }

  /// Lines of text beside their anchor, with a leader where they had to move away.
  [[nodiscard]] std::string label(Anchor anchor,
                                  const std::vector<std::string>& lines,
                                  std::string_view css_class) {
    constexpr double kNear = 14.0;
    for (const auto& line : lines) {
      anchor.label_width =
          std::max(anchor.label_width, static_cast<double>(display_width(line)) * kLabelCharWidth);
    }
    anchor.label_height = static_cast<double>(lines.size()) * kLabelHeight;
    const std::optional<PlacedLabel> placed = layout_.place(anchor);
    if (!placed) {
      return {};
    }
    const auto& [box, leader] = *placed;
    std::string svg;
    if (leader.length() > kNear) {
      svg = line_svg(leader.x1, leader.y1, leader.x2, leader.y2, "leader");
    }
    // Flush with the side that faces the anchor: text is narrower than kLabelCharWidth reckons.
    const bool left_of_anchor = box.right <= anchor.x;
    const double x = left_of_anchor ? box.right - 2.0 : box.left + 2.0;
    const std::string_view side = left_of_anchor ? "end" : "start";
    double baseline = box.top + kLabelHeight - 4.0;
    for (const auto& line : lines) {
      svg += text_svg(x, baseline, side, css_class, line);
      baseline += kLabelHeight;
    }
    return svg;
  }

  [[nodiscard]] std::vector<Cluster> clusters() const {
    std::vector<Cluster> found;
    for (const RooflinePoint& point : points_) {
      const auto near = std::find_if(
          found.begin(), found.end(), [&](const Cluster& cluster) { return cluster.takes(point); });
      Cluster& cluster = near != found.end() ? *near : found.emplace_back();
      cluster.points.push_back(&point);
    }
    return found;
  }

  [[nodiscard]] std::string points() {
    std::string marks;
    for (const RooflinePoint& point : points_) {
      layout_.block({.left = point.x - point.radius,
                     .top = point.y - point.radius,
                     .right = point.x + point.radius,
                     .bottom = point.y + point.radius});
      marks += mark_svg(point.x, point.y, point.radius, point.part->phase);
    }
    std::string labels;
    for (const Cluster& cluster : clusters()) {
      const RooflinePoint& first = *cluster.points.front();
      labels += label({.x = first.x, .y = first.y, .radius = first.radius}, cluster.lines(), "");
    }
    return marks + labels;
  }

  [[nodiscard]] std::string legend() const {
    constexpr std::array<std::string_view, 3> kPhases = {"decode", "prefill", "step"};
    std::string svg;
    double x = kPlot.left + 6.0;
    constexpr double kRow = kHeight - 38.0;
    for (const std::string_view phase : kPhases) {
      const bool used =
          std::any_of(points_.begin(), points_.end(), [&](const RooflinePoint& point) {
            return phase_class(point.part->phase) == phase;
          });
      if (used) {
        svg += mark_svg(x, kRow, 6.0, phase);
        svg += text_svg(x + 12.0, kRow + 4.0, "start", "", phase);
        x += 80.0;
      }
    }
    svg += text_svg(kPlot.right, kRow + 4.0, "end", "quiet", "area and % = " + roofline_.shares);
    if (!unplaced_.empty()) {
      std::vector<std::string> names;
      for (const auto* part : unplaced_) {
        if (std::ranges::find(names, part->name) == names.end()) {
          names.push_back(part->name);
        }
      }
      constexpr std::size_t kMaxColumns = 118;
      const std::string note = fmt::format("not drawn, no arithmetic ({} of the time): {}",
                                           percent(unplaced_share_),
                                           fmt::join(names, ", "));
      svg += text_svg(
          kPlot.left, kHeight - 12.0, "start", "quiet", shortened(note, kMaxColumns, false));
    }
    return svg;
  }

  /// Pixels of a place on the roof.
  struct Corner {
    double x = 0.0;
    double y = 0.0;
  };

  const Roofline& roofline_;
  LabelLayout layout_;
  std::vector<RooflinePoint> points_;
  std::vector<const RooflinePart*> unplaced_;
  double unplaced_share_ = 0.0;
  Axis x_;
  Axis y_;
  std::vector<Corner> corners_;  ///< Ridge and peak of each format.
  Corner foot_;                  ///< The slope's lower end.
};

}  // namespace

std::string roofline_svg(const Roofline& roofline, const std::vector<RooflinePart>& parts) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" class=\"roofline\">\n<title>{2}</title>\n"
      "<rect class=\"page\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{3}</svg>\n",
      kWidth,
      kHeight,
      xml_escaped(roofline.title),
      Chart(roofline, parts).marks());
}

std::string roofline_marks(const Roofline& roofline, const std::vector<RooflinePart>& parts) {
  return "<g class=\"roofline\">\n" + Chart(roofline, parts).marks() + "</g>\n";
}

}  // namespace ridgeline::report

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::report::figures {

/// Pixels: every picture that fills the column of a page is so wide.
inline constexpr double kPictureWidth = 960.0;
/// Where its plot begins and ends, unless its labels need other room.
inline constexpr double kPlotLeft = 70.0;
inline constexpr double kPlotRight = 930.0;
/// Ticks that an axis below a plot has at most.
inline constexpr int kTicksBelow = 10;

/// Values of one axis to pixels: linear, or logarithmic of values above zero.
struct Scale {
  double low = 0.0;
  double high = 1.0;
  double start = 0.0;  ///< Pixel of `low`.
  double end = 1.0;    ///< Pixel of `high`.
  bool log = false;

  /// Values outside are at the nearer end.
  [[nodiscard]] double pixel(double value) const;
  /// Round values within, some `wanted` of them: 1, 2 and 5 times powers of ten.
  [[nodiscard]] std::vector<double> ticks(int wanted) const;

  /// From zero to a round value that holds `highest`.
  [[nodiscard]] static Scale from_zero(double highest, double start, double end);
  /// Logarithmic about these values, both above zero.
  [[nodiscard]] static Scale logarithmic(double lowest, double highest, double start, double end);
};

struct Spot {
  double x = 0.0;
  double y = 0.0;
};

/// What stands for a point: never colour alone.
enum class Shape : std::uint8_t { kDisc, kSquare, kCross };

/// A drawing of SVG, mark by mark. Coordinates are rounded to a tenth of a pixel; colours are CSS
/// classes (figure_style()).
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  void text(Spot at, std::string_view anchor, std::string_view css_class, std::string_view text);
  void line(Spot from, Spot to, std::string_view css_class);
  /// A line through all spots.
  void path(std::span<const Spot> spots, std::string_view css_class);
  /// A value per window, each so long, from zero on: horizontal within each, vertical between.
  void step(std::span<const double> values,
            double window,
            const Scale& x,
            const Scale& y,
            std::string_view css_class);
  /// The area between two step lines.
  void band(std::span<const double> lower,
            std::span<const double> upper,
            double window,
            const Scale& x,
            const Scale& y,
            std::string_view css_class);
  /// A rectangle; `hint` is shown beside the pointer where it is not empty.
  void bar(Spot from, Spot to, std::string_view css_class, std::string_view hint = {});
  /// A point of such a radius.
  void mark(
      Shape shape, Spot at, double radius, std::string_view css_class, std::string_view hint = {});
  /// A rectangle as dark as `level`, 0 to 1.
  struct HeatCell {
    Spot from;
    Spot to;
    double level = 0.0;
  };
  /// All cells of one shade are one path: a page of thousands of elements is slow to draw.
  void heat(std::span<const HeatCell> cells);
  /// A range with a mark at its middle, horizontal.
  void whisker(double y, double low, double middle, double high, std::string_view css_class);
  /// Ticks with their labels and a line across the plot at each.
  void axis_below(
      const Scale& x, double y, double top, std::string_view unit, int wanted = kTicksBelow);
  void axis_left(const Scale& y, double x, double right);

  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }
  [[nodiscard]] const std::string& marks() const { return marks_; }

 private:
  double width_;
  double height_;
  std::string marks_;
};

/// A number as an axis says it: "0.05", "20", "1.5k", "2M".
[[nodiscard]] std::string tick_text(double value);

}  // namespace ridgeline::report::figures

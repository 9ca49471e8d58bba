#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"

namespace ridgeline::report::figures {

/// What a time axis counts in.
struct AxisUnit {
  std::string_view name;
  double seconds;
};
/// Seconds, minutes or hours: that in which a run of this length is a number of two digits.
[[nodiscard]] AxisUnit axis_unit(double end_s);

/// Lanes one below the other on one axis of simulated time.
class Lanes {
 public:
  static constexpr double kWidth = kPictureWidth;
  static constexpr double kLeft = 56.0;
  static constexpr double kRight = 944.0;

  /// The result must have `series`; `heights` of the lanes, from above.
  Lanes(const document::Node& result, const std::vector<double>& heights);

  [[nodiscard]] Canvas& canvas() { return canvas_; }
  /// From 0 to the run's end, in seconds.
  [[nodiscard]] const Scale& time() const { return time_; }
  [[nodiscard]] double top(std::size_t lane) const { return tops_[lane]; }
  [[nodiscard]] double bottom(std::size_t lane) const { return tops_[lane] + heights_[lane]; }
  /// A lane's axis from zero to `highest`, drawn, with its name and the names of its lines.
  struct Key {
    std::string_view name;
    std::string_view css_class;
  };
  Scale axis(std::size_t lane, double highest, std::string_view name, const std::vector<Key>& keys);
  void name(std::size_t lane, std::string_view name, const std::vector<Key>& keys);
  /// A value per window; the last one, which the run's end cuts, ends with it.
  /// Or a value per so many windows.
  void step(const std::vector<double>& values,
            const Scale& y,
            std::string_view css_class,
            std::size_t windows = 1);
  void band(const std::vector<double>& lower,
            const std::vector<double>& upper,
            const Scale& y,
            std::string_view css_class);
  /// The time below the last lane.
  void time_axis();
  /// Figure::time_axis of a picture of these lanes, of which those from `first` on have the axis.
  [[nodiscard]] std::string place(std::size_t first = 0) const;

 private:
  std::vector<double> heights_;
  std::vector<double> tops_;
  double window_s_;
  Canvas canvas_;
  Scale time_;
};

/// A list of a result with `series`, per second of each `group` windows together.
[[nodiscard]] std::vector<double> per_second(const document::Node& result,
                                             std::string_view path,
                                             std::size_t group = 1);
/// Seconds of each window that the run has.
[[nodiscard]] std::vector<double> window_lengths(const document::Node& result);

}  // namespace ridgeline::report::figures

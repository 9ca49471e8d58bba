#include "report/chart/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"

namespace ridgeline::report::figures {
namespace {

constexpr double kHead = 22.0;  ///< Above each lane, for its name.
constexpr double kFoot = 40.0;

double whole_height(const std::vector<double>& heights) {
  double sum = kFoot;
  for (const double height : heights) {
    sum += kHead + height;
  }
  return sum;
}

}  // namespace

Lanes::Lanes(const document::Node& result, const std::vector<double>& heights)
    : heights_(heights),
      window_s_(number_at(result, "series.window_s", 1.0)),
      canvas_(kWidth, whole_height(heights)),
      time_{.low = 0.0,
            .high = std::max(number_at(result, "series.end_s"), 1e-9),
            .start = kLeft,
            .end = kRight} {
  double top = 0.0;
  for (const double height : heights) {
    tops_.push_back(top + kHead);
    top += kHead + height;
  }
}

void Lanes::name(std::size_t lane, std::string_view name, const std::vector<Key>& keys) {
  constexpr double kRoom = 104.0;
  const double y = top(lane) - 7.0;
  canvas_.text({.x = kLeft, .y = y}, "start", "strong", name);
  double x = kRight - kRoom * static_cast<double>(keys.size());
  for (const Key& key : keys) {
    canvas_.line({.x = x, .y = y - 4.0}, {.x = x + 18.0, .y = y - 4.0}, key.css_class);
    canvas_.text({.x = x + 22.0, .y = y}, "start", "quiet", key.name);
    x += kRoom;
  }
  canvas_.line({.x = kLeft, .y = bottom(lane)}, {.x = kRight, .y = bottom(lane)}, "frame");
}

Scale Lanes::axis(std::size_t lane,
                  double highest,
                  std::string_view name,
                  const std::vector<Key>& keys) {
  const Scale y = Scale::from_zero(highest, bottom(lane), top(lane));
  canvas_.axis_left(y, kLeft, kRight);
  this->name(lane, name, keys);
  return y;
}

void Lanes::step(const std::vector<double>& values,
                 const Scale& y,
                 std::string_view css_class,
                 std::size_t windows) {
  canvas_.step(values, window_s_ * static_cast<double>(windows), time_, y, css_class);
}

void Lanes::band(const std::vector<double>& lower,
                 const std::vector<double>& upper,
                 const Scale& y,
                 std::string_view css_class) {
  canvas_.band(lower, upper, window_s_, time_, y, css_class);
}

void Lanes::time_axis() {
  const std::size_t last = heights_.size() - 1;
  constexpr int kHours = 13;  // A day has a tick every second hour.
  const AxisUnit unit = axis_unit(time_.high);
  Scale in_units = time_;
  in_units.high /= unit.seconds;
  canvas_.axis_below(in_units,
                     bottom(last),
                     bottom(last),
                     fmt::format("{} of simulated time", unit.name),
                     unit.name == "hours" ? kHours : kTicksBelow);
}

std::string Lanes::place(std::size_t first) const {
  return fmt::format(
      " data-seconds=\"{}\" data-unit=\"{}\" data-plot=\"{:.0f} {:.0f} {:.0f} {:.0f}\"",
      time_.high,
      axis_unit(time_.high).seconds,
      kLeft,
      kRight,
      bottom(heights_.size() - 1),
      top(first));
}

AxisUnit axis_unit(double end_s) {
  constexpr double kMinute = 60.0;
  constexpr double kHour = 60.0 * kMinute;
  constexpr double kLongMinutes = 5.0;
  constexpr double kLongHours = 3.0;
  if (end_s >= kLongHours * kHour) {
    return {.name = "hours", .seconds = kHour};
  }
  return end_s >= kLongMinutes * kMinute ? AxisUnit{.name = "minutes", .seconds = kMinute}
                                         : AxisUnit{.name = "seconds", .seconds = 1.0};
}

std::vector<double> window_lengths(const document::Node& result) {
  const double window = number_at(result, "series.window_s", 1.0);
  const double end = number_at(result, "series.end_s");
  std::vector<double> lengths;
  for (double i = 0.0; i < number_at(result, "series.windows"); i += 1.0) {
    lengths.push_back(std::clamp(end - i * window, 1e-12, window));
  }
  return lengths;
}

std::vector<double> per_second(const document::Node& result,
                               std::string_view path,
                               std::size_t group) {
  const std::vector<double> counts = numbers_at(result, path);
  const auto lengths = window_lengths(result);
  std::vector<double> rates;
  for (std::size_t i = 0; i < std::min(counts.size(), lengths.size()); i += group) {
    double count = 0.0;
    double length = 0.0;
    for (std::size_t j = i; j < std::min({i + group, counts.size(), lengths.size()}); ++j) {
      count += counts[j];
      length += lengths[j];
    }
    rates.push_back(count / length);
  }
  return rates;
}

}  // namespace ridgeline::report::figures

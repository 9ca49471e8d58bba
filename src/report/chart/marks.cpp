#include "report/chart/marks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/math.hpp"
#include "report/chart/svg.hpp"

namespace ridgeline::report::figures {
namespace {

/// Pixels in tenths, which is how they are written.
std::int64_t tenths(double pixel) {
  return static_cast<std::int64_t>(std::floor(pixel * 10.0 + 0.5));
}

/// By hand: a page draws tens of thousands of these while a slider moves.
void append_tenths(std::int64_t value, std::string& text) {
  constexpr std::size_t kLongest = 24;
  constexpr std::int64_t kTen = 10;
  std::array<char, kLongest> digits{};
  std::size_t first = digits.size();
  std::int64_t rest = value < 0 ? -value : value;
  const auto put = [&](std::int64_t digit) { digits[--first] = static_cast<char>('0' + digit); };
  if (rest % kTen != 0) {
    put(rest % kTen);
    digits[--first] = '.';
  }
  rest /= kTen;
  do {
    put(rest % kTen);
    rest /= kTen;
  } while (rest > 0);
  if (value < 0) {
    digits[--first] = '-';
  }
  text.append(&digits[first], digits.size() - first);
}

std::string of_tenths(std::int64_t value) {
  std::string text;
  append_tenths(value, text);
  return text;
}

std::string number(double pixel) {
  return of_tenths(tenths(pixel));
}

/// A path in relative steps, each from where the written ones lead.
class Pen {
 public:
  void move(Spot to) {
    x_ = tenths(to.x);
    y_ = tenths(to.y);
    put('M', x_);
    put(' ', y_);
  }
  void line(Spot to) {
    const std::int64_t dx = tenths(to.x) - x_;
    const std::int64_t dy = tenths(to.y) - y_;
    if (dx == 0 && dy == 0) {
      return;
    }
    if (dy == 0) {
      put('h', dx);
    } else if (dx == 0) {
      put('v', dy);
    } else {
      put('l', dx);
      put(' ', dy);
    }
    x_ += dx;
    y_ += dy;
  }
  void close() { text_ += "z"; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void put(char before, std::int64_t value) {
    text_ += before;
    append_tenths(value, text_);
  }

  std::string text_;
  std::int64_t x_ = 0;
  std::int64_t y_ = 0;
};

/// Corners of a step line; windows of one height are one stretch.
std::vector<Spot> corners(std::span<const double> values,
                          double window,
                          const Scale& x,
                          const Scale& y) {
  const auto edge = [&](std::size_t i) { return x.pixel(static_cast<double>(i) * window); };
  std::vector<Spot> spots;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double height = y.pixel(values[i]);
    if (spots.empty() || tenths(spots.back().y) != tenths(height)) {
      spots.push_back({.x = edge(i), .y = height});
      spots.push_back(spots.back());
    }
    spots.back().x = edge(i + 1);
  }
  return spots;
}

}  // namespace

double Scale::pixel(double value) const {
  const double inside = std::clamp(value, low, high);
  const double part =
      log ? core::log(inside / low) / core::log(high / low) : (inside - low) / (high - low);
  return start + (end - start) * part;
}

std::vector<double> Scale::ticks(int wanted) const {
  constexpr std::array<double, 3> kSteps = {1.0, 2.0, 5.0};
  std::vector<double> all;
  if (log) {
    const bool dense = high / low < 1e3;
    for (double power = core::pow(10.0, std::floor(core::log(low) / core::log(10.0)));
         power <= high;
         power *= 10.0) {
      for (const double step : kSteps) {
        if ((dense || step == 1.0) && step * power >= low && step * power <= high) {
          all.push_back(step * power);
        }
      }
    }
    return all;
  }
  double step = core::pow(10.0, std::floor(core::log((high - low) / wanted) / core::log(10.0)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if ((high - low) / step > wanted) {
      step *= factor;
    }
  }
  for (double at = std::ceil(low / step); at * step <= high * (1.0 + 1e-9); at += 1.0) {
    all.push_back(at * step);
  }
  return all;
}

Scale Scale::from_zero(double highest, double start, double end) {
  constexpr int kTicks = 4;
  Scale scale{.low = 0.0, .high = highest > 0.0 ? highest : 1.0, .start = start, .end = end};
  const auto ticks = scale.ticks(kTicks);
  if (ticks.size() > 1 && ticks.back() < scale.high) {
    scale.high = ticks.back() + ticks[1];
  }
  return scale;
}

Scale Scale::logarithmic(double lowest, double highest, double start, double end) {
  constexpr double kMargin = 1.1;
  return {.low = lowest / kMargin,
          .high = std::max(highest, lowest * 2.0) * kMargin,
          .start = start,
          .end = end,
          .log = true};
}

void Canvas::text(Spot at,
                  std::string_view anchor,
                  std::string_view css_class,
                  std::string_view text) {
  marks_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n",
                        number(at.x),
                        number(at.y),
                        anchor == "start" ? "" : fmt::format(" text-anchor=\"{}\"", anchor),
                        css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class),
                        xml_escaped(text));
}

void Canvas::line(Spot from, Spot to, std::string_view css_class) {
  path(std::array{from, to}, css_class);
}

void Canvas::path(std::span<const Spot> spots, std::string_view css_class) {
  if (spots.empty()) {
    return;
  }
  Pen pen;
  pen.move(spots.front());
  for (const Spot& spot : spots.subspan(1)) {
    pen.line(spot);
  }
  marks_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, pen.text());
}

void Canvas::step(std::span<const double> values,
                  double window,
                  const Scale& x,
                  const Scale& y,
                  std::string_view css_class) {
  path(corners(values, window, x, y), css_class);
}

void Canvas::band(std::span<const double> lower,
                  std::span<const double> upper,
                  double window,
                  const Scale& x,
                  const Scale& y,
                  std::string_view css_class) {
  const auto above = corners(upper, window, x, y);
  const auto below = corners(lower, window, x, y);
  if (above.empty() || below.empty()) {
    return;
  }
  Pen pen;
  pen.move(above.front());
  for (const Spot& spot : above) {
    pen.line(spot);
  }
  for (auto spot = below.rbegin(); spot != below.rend(); ++spot) {
    pen.line(*spot);
  }
  pen.close();
  marks_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, pen.text());
}

void Canvas::bar(Spot from, Spot to, std::string_view css_class, std::string_view hint) {
  marks_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                        css_class,
                        number(from.x),
                        number(from.y),
                        of_tenths(std::max<std::int64_t>(tenths(to.x) - tenths(from.x), 0)),
                        of_tenths(std::max<std::int64_t>(tenths(to.y) - tenths(from.y), 0)));
  marks_ += hint.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", xml_escaped(hint));
}

void Canvas::mark(
    Shape shape, Spot at, double radius, std::string_view css_class, std::string_view hint) {
  if (shape == Shape::kSquare) {
    bar({.x = at.x - radius, .y = at.y - radius},
        {.x = at.x + radius, .y = at.y + radius},
        css_class,
        hint);
    return;
  }
  const std::string said =
      hint.empty() ? std::string() : fmt::format("<title>{}</title>", xml_escaped(hint));
  if (shape == Shape::kDisc) {
    marks_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\">{}</circle>\n",
                          css_class,
                          number(at.x),
                          number(at.y),
                          number(radius),
                          said);
    return;
  }
  marks_ += fmt::format("<path class=\"{0}\" d=\"M{1} {2}l{3} {3}m0 -{3}l-{3} {3}\">{4}</path>\n",
                        css_class,
                        number(at.x - radius),
                        number(at.y - radius),
                        number(2.0 * radius),
                        said);
}

void Canvas::heat(std::span<const HeatCell> cells) {
  constexpr std::size_t kShades = 20;
  std::array<std::string, kShades + 1> paths;
  for (const HeatCell& cell : cells) {
    const auto shade = static_cast<std::size_t>(std::ceil(cell.level * double{kShades}));
    std::string& path = paths[std::min(shade, kShades)];
    const auto put = [&](const char* before, std::int64_t value) {
      path += before;
      append_tenths(value, path);
    };
    const std::int64_t left = tenths(cell.from.x);
    const std::int64_t right = tenths(cell.to.x);
    put("M", left);
    put(" ", tenths(cell.from.y));
    put("h", right - left);
    put("V", tenths(cell.to.y));
    put("h", left - right);
    path += 'z';
  }
  for (std::size_t shade = 1; shade <= kShades; ++shade) {
    if (!paths[shade].empty()) {
      marks_ += fmt::format("<path class=\"heat\" opacity=\"{}\" d=\"{}\"/>\n",
                            static_cast<double>(shade) / double{kShades},
                            paths[shade]);
    }
  }
}

void Canvas::whisker(double y, double low, double middle, double high, std::string_view css_class) {
  constexpr double kHalf = 4.0;
  line({.x = low, .y = y}, {.x = high, .y = y}, css_class);
  for (const double x : {low, middle, high}) {
    line({.x = x, .y = y - kHalf}, {.x = x, .y = y + kHalf}, css_class);
  }
}

void Canvas::axis_below(const Scale& x, double y, double top, std::string_view unit, int wanted) {
  constexpr double kBelow = 16.0;
  for (const double tick : x.ticks(wanted)) {
    const double at = x.pixel(tick);
    line({.x = at, .y = top}, {.x = at, .y = y}, "grid");
    text({.x = at, .y = y + kBelow}, "middle", "quiet", tick_text(tick));
  }
  line({.x = x.start, .y = y}, {.x = x.end, .y = y}, "frame");
  text({.x = x.end, .y = y + 2.0 * kBelow}, "end", "quiet", unit);
}

void Canvas::axis_left(const Scale& y, double x, double right) {
  constexpr int kTicks = 4;
  for (const double tick : y.ticks(kTicks)) {
    const double at = y.pixel(tick);
    line({.x = x, .y = at}, {.x = right, .y = at}, "grid");
    text({.x = x - 6.0, .y = at + 4.0}, "end", "quiet", tick_text(tick));
  }
}

std::string tick_text(double value) {
  constexpr std::array<std::pair<double, const char*>, 3> kPrefixes = {
      {{1e9, "G"}, {1e6, "M"}, {1e4, "k"}}};
  for (const auto& [least, prefix] : kPrefixes) {
    if (value >= least) {
      return fmt::format("{:.4g}{}", value / (least == 1e4 ? 1e3 : least), prefix);
    }
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace ridgeline::report::figures

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/format.hpp"
#include "report/svg.hpp"
#include "report/validation.hpp"
#include "report/validation_coverage.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::Figure;
using evidence::validate::kFigureNames;
using evidence::validate::Level;
using evidence::validate::ScoredRecord;
using evidence::validate::Standing;
using evidence::validate::Validation;

constexpr double kSide = 320.0;
constexpr double kMargin = 52.0;
/// Points whose names are written beside them.
constexpr std::size_t kNamed = 5;

struct Point {
  double measured = 0.0;
  double predicted = 0.0;
  double error = 0.0;
  const ScoredRecord* record = nullptr;
};

std::vector<Point> points_of(const Validation& validation, Figure figure) {
  std::vector<Point> points;
  for (const auto& record : validation.records) {
    const auto error = record.error_pct(figure, Level::kMean);
    if (error && *record.prediction->figures.at(figure, Level::kMean) > 0.0) {
      points.push_back({.measured = *record.evidence.measured.at(figure, Level::kMean),
                        .predicted = *record.prediction->figures.at(figure, Level::kMean),
                        .error = *error,
                        .record = &record});
    }
  }
  return points;
}

/// Both axes are logarithmic and of the same range.
class LogScale {
 public:
  explicit LogScale(const std::vector<Point>& points) {
    double lowest = points.front().measured;
    double highest = lowest;
    for (const auto& point : points) {
      lowest = std::min({lowest, point.measured, point.predicted});
      highest = std::max({highest, point.measured, point.predicted});
    }
    low_ = std::floor(std::log10(lowest) * 4.0) / 4.0;
    high_ = std::max(low_ + 0.25, std::ceil(std::log10(highest) * 4.0) / 4.0);
  }
  [[nodiscard]] double x(double value) const { return kMargin + part(value) * kSide; }
  [[nodiscard]] double y(double value) const { return kMargin + (1.0 - part(value)) * kSide; }
  [[nodiscard]] double low() const { return std::pow(10.0, low_); }
  [[nodiscard]] double high() const { return std::pow(10.0, high_); }
  /// 1, 2 and 5 times powers of ten within the range.
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> values;
    for (double power = std::floor(low_); power <= high_; power += 1.0) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double value = step * std::pow(10.0, power);
        if (value >= low() * 0.999 && value <= high() * 1.001) {
          values.push_back(value);
        }
      }
    }
    return values;
  }

 private:
  [[nodiscard]] double part(double value) const {
    return (std::log10(value) - low_) / (high_ - low_);
  }
  double low_ = 0.0;
  double high_ = 1.0;
};

std::string frame_svg(const LogScale& scale, std::string_view title) {
  std::string svg = fmt::format(
      "<text x=\"{}\" y=\"24\" class=\"title\">{}</text>"
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"frame\"/>",
      kMargin,
      xml_escaped(title),
      kMargin,
      kMargin,
      kSide,
      kSide);
  for (const double tick : scale.ticks()) {
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"tick\" text-anchor=\"middle\">{:g}</text>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"tick\" text-anchor=\"end\">{:g}</text>",
        scale.x(tick),
        kMargin + kSide + 16.0,
        tick,
        kMargin - 6.0,
        scale.y(tick) + 4.0,
        tick);
  }
  const auto line = [&](double factor, std::string_view style) {
    const double low = std::max(scale.low(), scale.low() / factor);
    const double high = std::min(scale.high(), scale.high() / factor);
    svg +=
        fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                    scale.x(low),
                    scale.y(low * factor),
                    scale.x(high),
                    scale.y(high * factor),
                    style);
  };
  line(1.0, "equal");
  line(1.1, "tenth");
  line(1.0 / 1.1, "tenth");
  return svg;
}

/// Names of a server's start end in their units.
std::string_view unit_of(Figure figure) {
  if (is_of_start(figure)) {
    return "of starts";
  }
  switch (figure) {
    case Figure::kOutputThroughput:
      return "tokens/s";
    case Figure::kPower:
      return "W";
    case Figure::kEnergy:
      return "J";
    default:
      return "ms";
  }
}

std::string scatter_svg(const Validation& validation, Figure figure) {
  std::vector<Point> points = points_of(validation, figure);
  if (points.empty()) {
    return {};
  }
  const LogScale scale(points);
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">{}",
                  2.0 * kMargin + kSide,
                  2.0 * kMargin + kSide,
                  frame_svg(scale,
                            fmt::format("{} mean, {}: predicted over measured",
                                        kFigureNames[static_cast<std::size_t>(figure)],
                                        unit_of(figure))));
  std::ranges::stable_sort(
      points, [](const Point& a, const Point& b) { return std::abs(a.error) > std::abs(b.error); });
  for (std::size_t i = points.size(); i-- > 0;) {
    const Point& point = points[i];
    const std::string id = xml_escaped(point.record->evidence.id);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" class=\"{}\"><title>{}: measured {:.4g}, "
        "predicted {:.4g}, {:+.1f} %</title></circle>",
        scale.x(point.measured),
        scale.y(point.predicted),
        point.record->standing == Standing::kScored ? "scored" : "apart",
        id,
        point.measured,
        point.predicted,
        point.error);
    if (i < kNamed) {
      const bool right = scale.x(point.measured) < kMargin + kSide / 2.0;
      svg += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"name\" text-anchor=\"{}\">{} {:+.0f} %</text>",
          scale.x(point.measured) + (right ? 6.0 : -6.0),
          scale.y(point.predicted) + 3.0,
          right ? "start" : "end",
          id,
          point.error);
    }
  }
  return svg + "</svg>\n";
}

std::string scores_html(const Validation& validation) {
  std::string rows;
  for (const auto& row : validation.scores) {
    if (!is_headline(row, validation)) {
      continue;
    }
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td>"
        "<td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:+.2f}</td></tr>\n",
        xml_escaped(row.axis),
        xml_escaped(row.value),
        kFigureNames[static_cast<std::size_t>(row.figure)],
        evidence::validate::kLevelNames[static_cast<std::size_t>(row.level)],
        row.n,
        row.median_abs,
        row.mean_abs,
        row.p95_abs,
        row.p99_abs,
        row.mean_signed);
  }
  return "<div "
         "class=\"wide\"><table><tr><th>axis</th><th>value</th><th>metric</th><th>of</th><th>n</th>"
         "<th>median %</th><th>mean %</th><th>p95 %</th><th>p99 %</th><th>signed %</th></tr>\n" +
         rows + "</table></div>\n";
}

std::string peers_html(const Validation& validation) {
  std::string rows;
  for (const auto& row : validation.peers) {
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1f}</td><td>{:.1f}</td>"
        "<td>{:.2f}</td><td>{:.2f}</td></tr>\n",
        xml_escaped(row.peer),
        kFigureNames[static_cast<std::size_t>(row.figure)],
        evidence::validate::kLevelNames[static_cast<std::size_t>(row.level)],
        row.n,
        row.median_abs,
        row.mean_abs,
        row.our_median_abs,
        row.our_mean_abs);
  }
  if (rows.empty()) {
    return rows;
  }
  return "<h2>Others on the same records</h2>\n<div "
         "class=\"wide\"><table><tr><th>simulator</th><th>metric</th>"
         "<th>of</th><th>n</th><th>median %</th><th>mean %</th><th>ours median %</th>"
         "<th>ours mean %</th></tr>\n" +
         rows + "</table></div>\n";
}

// Nothing is asked of the network. Letters grow with the screen; a wide table scrolls by itself.
constexpr std::string_view kPageHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<title>Ridgeline: predicted and measured</title>\n<style>"
    ":root{color-scheme:light dark;--ink:#222;--dim:#666;--paper:#fff;--soft:#f4f4f4;--line:#999;"
    "--faint:#bbb;--scored:#26a;--apart:#b60;--name:#a33}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e8ee;--dim:#9aa5b1;--paper:#12161b;"
    "--soft:#1b2128;--line:#667;--faint:#445;--scored:#6cb2ff;--apart:#f0a050;"
    "--name:#ff8b82}}"
    "html{font-size:clamp(14px,.4vw + 10px,25px)}"
    "body{font:1rem/1.4 system-ui,sans-serif;margin:1em;color:var(--ink);background:var(--paper)}"
    "svg{width:28em;max-width:100%;fill:var(--ink)}.title{font-weight:600}"
    ".frame{fill:none;stroke:var(--line)}.tick,.name{font-size:12px;fill:var(--dim)}"
    ".name{fill:var(--name)}.equal{stroke:var(--ink)}"
    ".tenth{stroke:var(--faint);stroke-dasharray:4}.scored{fill:var(--scored);fill-opacity:.7}"
    ".apart{fill:var(--apart);fill-opacity:.7}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .7em;text-align:right}"
    "td:nth-child(-n+4),th:nth-child(-n+4){text-align:left}"
    "tr:nth-child(even){background:var(--soft)}</style></head><body>\n";

}  // namespace

std::string validation_html(const Validation& validation) {
  std::string page(kPageHead);
  page += fmt::format(
      "<h1>Predicted and measured</h1>\n<p>{}. Orange: saturated or contradicted. Dashed: 10 % "
      "off. Hover for names.</p>\n",
      standings_text(validation));
  for (std::size_t i = 0; i < evidence::validate::kNumFigures; ++i) {
    page += scatter_svg(validation, static_cast<Figure>(i));
  }
  return page + "<h2>Absolute errors</h2>\n" + scores_html(validation) + peers_html(validation) +
         (validation.coverage ? coverage_html(*validation.coverage) : "") + "</body></html>\n";
}

}  // namespace ridgeline::report

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"
#include "report/table/table.hpp"
#include "verbs/trace_view.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::figures::Canvas;
using report::figures::number_at;
using report::figures::Scale;

constexpr double kPanelHeight = 150.0;
constexpr double kPanelStep = 215.0;
constexpr double kPanelLeft = 80.0;
constexpr double kPanelRight = 930.0;

/// A picture among others below each other, with values from the bottom up.
struct Panel {
  Canvas& canvas;
  double top;
  double highest;

  [[nodiscard]] double bottom() const { return top + kPanelHeight; }
  [[nodiscard]] Scale y() const {
    return {.low = 0.0, .high = highest > 0.0 ? highest : 1.0, .start = bottom(), .end = top};
  }
  /// Its frame: what it shows, and what the axes say at their ends.
  void frame(const std::string& title,
             std::string_view first = {},
             std::string_view last = {},
             std::string_view most = {}) const {
    canvas.text({.x = kPanelLeft, .y = top - 10.0}, "start", "", title);
    canvas.bar({.x = kPanelLeft, .y = top}, {.x = kPanelRight, .y = bottom()}, "frame");
    canvas.text({.x = kPanelLeft, .y = bottom() + 16.0}, "start", "quiet", first);
    canvas.text({.x = kPanelRight, .y = bottom() + 16.0}, "end", "quiet", last);
    canvas.text({.x = kPanelLeft - 6.0, .y = top + 12.0}, "end", "quiet", most);
  }
  /// Bars side by side, each so much of its place.
  void bars(const std::vector<double>& values, double share, std::string_view css_class) const {
    const double step = (kPanelRight - kPanelLeft) / static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double left = kPanelLeft + step * (static_cast<double>(i) + (1.0 - share) / 2.0);
      canvas.bar({.x = left, .y = y().pixel(values[i])},
                 {.x = left + step * share, .y = bottom()},
                 css_class);
    }
  }
};

void draw_rate(const report::Rows& windows, double top, Canvas& canvas) {
  constexpr double kShare = 0.92;
  const double width = windows.size() > 1 ? number_at(*windows[1], "start_s") : 1.0;
  std::vector<double> rates;
  for (const Node* window : windows) {
    rates.push_back(number_at(*window, "requests") / width);
  }
  const double highest = rates.empty() ? 0.0 : *std::ranges::max_element(rates);
  const Panel panel{.canvas = canvas, .top = top, .highest = highest};
  panel.frame("requests per second over time",
              "0 s",
              report::human_duration(width * static_cast<double>(rates.size())),
              report::significant(highest));
  panel.bars(rates, kShare, "fa");
}

/// One bar per statistic, each with its name below and its value above.
void draw_lengths(const Node& trace,
                  std::string_view what,
                  double top,
                  std::string_view css_class,
                  Canvas& canvas) {
  constexpr double kHeadroom = 1.15;  // Above the highest bar, for its value.
  constexpr double kShare = 0.5;
  const std::vector<std::string_view> names = {"mean", "p50", "p90", "p99", "max"};
  const Node& spread = node_at(trace, fmt::format("{}_tokens", what));
  std::vector<double> values;
  for (const std::string_view name : names) {
    values.push_back(number_at(spread, name));
  }
  const Panel panel{.canvas = canvas, .top = top, .highest = values.back() * kHeadroom};
  panel.frame(fmt::format("{} tokens per request", what));
  panel.bars(values, kShare, css_class);
  const double step = (kPanelRight - kPanelLeft) / static_cast<double>(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double middle = kPanelLeft + step * (static_cast<double>(i) + 0.5);
    canvas.text({.x = middle, .y = panel.bottom() + 16.0}, "middle", "quiet", names[i]);
    canvas.text({.x = middle, .y = panel.y().pixel(values[i]) - 5.0},
                "middle",
                "",
                report::significant(values[i]));
  }
}

void draw_reuse(const report::Rows& sizes, double top, Canvas& canvas) {
  const auto last = static_cast<double>(std::max<std::size_t>(sizes.size() - 1, 1));
  const Scale x{.low = 0.0, .high = last, .start = kPanelLeft, .end = kPanelRight};
  const Panel panel{.canvas = canvas, .top = top, .highest = 1.0};
  const auto tokens = [](const Node* size) {
    return report::cell_text(at_path(*size, "tokens"), report::Format::kCount);
  };
  panel.frame("share of prompt blocks that a prefix cache finds, by its size in tokens (doubling)",
              tokens(sizes.front()),
              tokens(sizes.back()),
              "100 %");
  std::vector<report::figures::Spot> spots;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    spots.push_back({.x = x.pixel(static_cast<double>(i)),
                     .y = panel.y().pixel(number_at(*sizes[i], "hit_rate"))});
  }
  canvas.path(spots, "la");
}

}  // namespace

std::string trace_svg(const Node& trace, const std::string& name) {
  constexpr double kFirst = 70.0;
  const report::Rows sizes = report::rows_at(trace, "block_reuse.by_cache_size");
  Canvas canvas(report::figures::kPictureWidth,
                kFirst + kPanelStep * (sizes.empty() ? 3.0 : 4.0) - 30.0);
  const std::string title = fmt::format(
      "{}: {} in {}",
      name,
      report::counted(static_cast<std::int64_t>(number_at(trace, "requests")), "request"),
      report::human_duration(number_at(trace, "duration_s")));
  canvas.text({.x = kPanelLeft, .y = 30.0}, "start", "title", title);
  draw_rate(report::rows_at(trace, "rate_over_time"), kFirst, canvas);
  draw_lengths(trace, "input", kFirst + kPanelStep, "fa", canvas);
  draw_lengths(trace, "output", kFirst + 2.0 * kPanelStep, "fb", canvas);
  if (!sizes.empty()) {
    draw_reuse(sizes, kFirst + 3.0 * kPanelStep, canvas);
  }
  report::figures::Figure figure{.id = "trace", .title = title};
  figure.draw(canvas);
  return standalone_svg(figure);
}

}  // namespace ridgeline::verbs

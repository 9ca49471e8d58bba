#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "report/figures/marks.hpp"
#include "report/format.hpp"
#include "report/svg.hpp"
#include "verbs/trace_view.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::verbs {
namespace {

constexpr double kPanelHeight = 150.0;
constexpr double kPanelLeft = 80.0;
constexpr double kPanelRight = 930.0;
constexpr double kFirstTop = 70.0;
constexpr double kPanelStep = 215.0;

constexpr std::string_view kTraceStyle = R"(
.page{fill:#ffffff}.frame{fill:none;stroke:#8c959f}.bar{fill:#0969da}.out{fill:#bc4c00}
.line{fill:none;stroke:#8250df;stroke-width:2}
text{font:12px system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}.quiet{fill:#59636e}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117}.frame{stroke:#656c76}text{fill:#e6edf3}.quiet{fill:#9198a1}
.bar{fill:#4493f8}.out{fill:#f0883e}.line{stroke:#ab7df8}}
)";

/// A picture among others on the page.
struct Panel {
  std::string title;
  std::string lowest = {};   ///< What the axis says at its left end,
  std::string highest = {};  ///< at its right end,
  std::string top = {};      ///< and at its top.
};

double panel_top(int number) {
  return kFirstTop + kPanelStep * number;
}

std::string frame(const Panel& panel, int number) {
  const double top = panel_top(number);
  const double bottom = top + kPanelHeight;
  std::string svg = fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n",
                                kPanelLeft,
                                top - 10.0,
                                report::xml_escaped(panel.title));
  svg += fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     kPanelLeft,
                     top,
                     kPanelRight - kPanelLeft,
                     kPanelHeight);
  svg += fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\">{}</text>\n",
                     kPanelLeft,
                     bottom + 16.0,
                     report::xml_escaped(panel.lowest));
  svg += fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                     kPanelRight,
                     bottom + 16.0,
                     report::xml_escaped(panel.highest));
  svg += fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                     kPanelLeft - 6.0,
                     top + 12.0,
                     report::xml_escaped(panel.top));
  return svg;
}

std::string bars(const std::vector<double>& values,
                 double highest,
                 int number,
                 double width_share,
                 double offset_share,
                 std::string_view style) {
  std::string svg;
  const double step = (kPanelRight - kPanelLeft) / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double height = highest > 0.0 ? kPanelHeight * values[i] / highest : 0.0;
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
        style,
        kPanelLeft + step * (static_cast<double>(i) + offset_share),
        panel_top(number) + kPanelHeight - height,
        step * width_share,
        height);
  }
  return svg;
}

std::string rate_panel(const workload::TraceStats& stats, int number) {
  std::vector<double> rates;
  const double width = stats.windows.size() > 1 ? stats.windows[1].start_s : 1.0;
  for (const auto& window : stats.windows) {
    rates.push_back(static_cast<double>(window.requests) / width);
  }
  const double highest = *std::ranges::max_element(rates);
  return frame({.title = "requests per second over time",
                .lowest = "0 s",
                .highest = report::human_duration(width * static_cast<double>(rates.size())),
                .top = report::significant(highest)},
               number) +
         bars(rates, highest, number, 0.92, 0.04, "bar");
}

/// One bar per statistic, each with its name below and its value above.
std::string length_panel(std::string_view what,
                         const workload::TokenSpread& spread,
                         int number,
                         std::string_view style) {
  const std::vector<std::pair<std::string_view, double>> values = {{"mean", spread.mean},
                                                                   {"p50", spread.p50},
                                                                   {"p90", spread.p90},
                                                                   {"p99", spread.p99},
                                                                   {"max", spread.max}};
  std::vector<double> heights;
  for (const auto& [name, value] : values) {
    heights.push_back(value);
  }
  // Room above the highest bar for its value.
  constexpr double kHeadroom = 1.15;
  const double top = spread.max * kHeadroom;
  constexpr double kBarShare = 0.5;
  std::string svg = frame({.title = fmt::format("{} tokens per request", what)}, number);
  svg += bars(heights, top, number, kBarShare, (1.0 - kBarShare) / 2.0, style);
  const double step = (kPanelRight - kPanelLeft) / static_cast<double>(values.size());
  const double bottom = panel_top(number) + kPanelHeight;
  const auto label = [&](double x, double y, std::string_view name, std::string_view text) {
    svg += fmt::format(
        "<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" "
        "text-anchor=\"middle\">{}</text>\n",
        name,
        x,
        y,
        text);
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [name, value] = values[i];
    const double middle = kPanelLeft + step * (static_cast<double>(i) + 0.5);
    const double height = top > 0.0 ? kPanelHeight * value / top : 0.0;
    label(middle, bottom + 16.0, "quiet", name);
    label(middle, bottom - height - 5.0, "value", report::significant(value));
  }
  return svg;
}

std::string reuse_panel(const workload::BlockReuse& reuse, int number) {
  if (reuse.by_cache_size.empty()) {
    return {};
  }
  std::string points;
  const double step = (kPanelRight - kPanelLeft) /
                      std::max(static_cast<double>(reuse.by_cache_size.size() - 1), 1.0);
  for (std::size_t i = 0; i < reuse.by_cache_size.size(); ++i) {
    points +=
        fmt::format("{:.2f},{:.2f} ",
                    kPanelLeft + step * static_cast<double>(i),
                    panel_top(number) + kPanelHeight * (1.0 - reuse.by_cache_size[i].hit_rate));
  }
  return frame({.title = "share of prompt blocks that a prefix cache finds, by its size in tokens "
                         "(doubling)",
                .lowest = report::grouped(reuse.by_cache_size.front().tokens),
                .highest = report::grouped(reuse.by_cache_size.back().tokens),
                .top = "100 %"},
               number) +
         fmt::format("<polyline class=\"line\" points=\"{}\"/>\n", points);
}

}  // namespace

std::string trace_svg(const workload::TraceStats& stats, const std::string& name) {
  const int panels = stats.reuse.by_cache_size.empty() ? 3 : 4;
  const double height = kFirstTop + kPanelStep * panels - 30.0;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" "
      "height=\"{}\">\n<style>{}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
      report::figures::kPictureWidth,
      height,
      report::figures::kPictureWidth,
      height,
      kTraceStyle);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"30\">{}: {} in {}</text>\n",
                     kPanelLeft,
                     report::xml_escaped(name),
                     report::counted(stats.requests, "request"),
                     report::human_duration(stats.duration_s));
  svg += rate_panel(stats, 0);
  svg += length_panel("input", stats.input_tokens, 1, "bar");
  svg += length_panel("output", stats.output_tokens, 2, "out");
  svg += reuse_panel(stats.reuse, 3);
  return svg + "</svg>\n";
}

}  // namespace ridgeline::verbs

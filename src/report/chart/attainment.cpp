#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/lanes.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

struct Line {
  std::string_view key;
  std::string_view name;
  std::string_view css_class;
};
constexpr std::array<Line, 5> kLines = {{{.key = "good", .name = "all", .css_class = "la"},
                                         {.key = "ttft", .name = "TTFT", .css_class = "lb"},
                                         {.key = "tpot", .name = "TPOT", .css_class = "lc"},
                                         {.key = "itl", .name = "ITL", .css_class = "ld"},
                                         {.key = "e2e", .name = "E2E", .css_class = "le"}}};

}  // namespace

Figure attainment(const document::Node& result) {
  constexpr double kLane = 140.0;
  Figure figure{.id = "attainment",
                .title = "Requests within their targets over time, in %",
                .caption =
                    "Of the requests that arrived in each window and ended, those whose "
                    "own latency is at most the target. A window without requests keeps "
                    "the share of the one before.",
                .head = {"target", "requests within", "share", "windows with a miss"}};
  const auto requests = numbers_at(result, "series.slo.requests");
  if (requests.empty()) {
    return figure;
  }
  Lanes lanes(result, {kLane});
  std::vector<Lanes::Key> keys;
  const Scale y{.low = 0.0, .high = 100.0, .start = lanes.bottom(0), .end = lanes.top(0)};
  lanes.canvas().axis_left(y, Lanes::kLeft, Lanes::kRight);
  double all = 0.0;
  for (const double number : requests) {
    all += number;
  }
  for (const Line& line : kLines) {
    const auto within = numbers_at(result, fmt::format("series.slo.{}", line.key));
    if (within.empty()) {
      continue;
    }
    std::vector<double> shares;
    double sum = 0.0;
    int missed = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      sum += within[i];
      missed += within[i] < requests[i] ? 1 : 0;
      const double before = shares.empty() ? 100.0 : shares.back();
      shares.push_back(requests[i] > 0.0 ? within[i] * 100.0 / requests[i] : before);
    }
    lanes.step(shares, y, line.css_class);
    keys.push_back({.name = line.name, .css_class = line.css_class});
    figure.rows.push_back({std::string(line.name),
                           grouped(static_cast<std::int64_t>(sum)),
                           all > 0.0 ? percent(sum / all) : "-",
                           fmt::format("{}", missed)});
    figure.description +=
        fmt::format("{}{}: {} of the requests within, a miss in {} of {} windows.",
                    figure.description.empty() ? "" : " ",
                    line.name,
                    figure.rows.back()[2],
                    missed,
                    requests.size());
  }
  lanes.name(0, "within the target", keys);
  lanes.time_axis();
  figure.draw(lanes.canvas());
  figure.time_axis = lanes.place();
  return figure;
}

}  // namespace ridgeline::report::figures

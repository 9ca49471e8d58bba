#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/lanes.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

struct Part {
  std::string_view key;
  std::string_view css_class;
};
constexpr std::array<Part, 5> kTimeParts = {{{.key = "memory", .css_class = "fa"},
                                             {.key = "compute", .css_class = "fb"},
                                             {.key = "network", .css_class = "fc"},
                                             {.key = "overhead", .css_class = "fd"},
                                             {.key = "idle", .css_class = "fe"}}};

constexpr double kPicoseconds = 1e12;

double sum_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

/// The parts of the whole run side by side, and as lines of the table.
void draw_bar(const std::vector<std::vector<double>>& parts,
              double all,
              Lanes& lanes,
              Figure& figure) {
  lanes.name(0, "the whole run", {});
  double x = Lanes::kLeft;
  for (std::size_t i = 0; i < kTimeParts.size(); ++i) {
    const double share = sum_of(parts[i]) / all;
    const double to = x + share * (Lanes::kRight - Lanes::kLeft);
    const std::string text = fmt::format("{} {}", kTimeParts[i].key, percent(share));
    lanes.canvas().bar({.x = x, .y = lanes.top(0)},
                       {.x = to, .y = lanes.bottom(0)},
                       kTimeParts[i].css_class,
                       text);
    figure.rows.push_back(
        {std::string(kTimeParts[i].key), significant(share * all / kPicoseconds), percent(share)});
    figure.description += fmt::format("{}{}", i == 0 ? "" : ", ", text);
    x = to;
  }
}

/// Each part from the top of those below it.
void draw_stack(const std::vector<std::vector<double>>& parts, Lanes& lanes) {
  const std::size_t windows = parts[0].size();
  std::vector<double> whole(windows, 0.0);
  for (const auto& part : parts) {
    for (std::size_t window = 0; window < windows; ++window) {
      whole[window] += part[window];
    }
  }
  std::vector<double> below(windows, 0.0);
  const Scale y{.low = 0.0, .high = 100.0, .start = lanes.bottom(1), .end = lanes.top(1)};
  for (std::size_t i = 0; i < kTimeParts.size(); ++i) {
    std::vector<double> above = below;
    for (std::size_t window = 0; window < windows; ++window) {
      above[window] += whole[window] > 0.0 ? parts[i][window] * 100.0 / whole[window] : 0.0;
    }
    lanes.band(below, above, y, kTimeParts[i].css_class);
    below = std::move(above);
  }
  lanes.canvas().axis_left(y, Lanes::kLeft, Lanes::kRight);
}

void draw_time_keys(Lanes& lanes) {
  constexpr double kRoom = 90.0;
  double x = Lanes::kRight - kRoom * static_cast<double>(kTimeParts.size());
  const double y = lanes.top(1) - 7.0;
  for (const Part& part : kTimeParts) {
    lanes.canvas().bar({.x = x, .y = y - 9.0}, {.x = x + 12.0, .y = y}, part.css_class);
    lanes.canvas().text({.x = x + 16.0, .y = y}, "start", "quiet", part.key);
    x += kRoom;
  }
}

}  // namespace

Figure time_split(const document::Node& result) {
  constexpr double kBar = 26.0;
  constexpr double kLane = 120.0;
  Figure figure{.id = "time",
                .title = "Where the time of the instances goes, in % of the run",
                .caption =
                    "By what holds each operator up: memory bandwidth, arithmetic, the "
                    "network between GPUs, launches and the host; idle is the rest. Seconds "
                    "of all instances together. An engine that answers one request is not idle "
                    "either: how full it is, its batch and its KV cache say.",
                .head = {"", "seconds", "share"}};
  std::vector<std::vector<double>> parts;
  double all = 0.0;
  for (const Part& part : kTimeParts) {
    parts.push_back(numbers_at(result, fmt::format("series.busy_ps.{}", part.key)));
    all += sum_of(parts.back());
  }
  if (all <= 0.0) {
    return figure;
  }
  Lanes lanes(result, {kBar, kLane});
  draw_bar(parts, all, lanes, figure);
  draw_stack(parts, lanes);
  draw_time_keys(lanes);
  lanes.name(1, "over time", {});
  lanes.time_axis();
  figure.draw(lanes.canvas());
  figure.time_axis = lanes.place(1);  // The bar above has none.
  return figure;
}

}  // namespace ridgeline::report::figures

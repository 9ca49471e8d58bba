#include "report/chart/sweep_pictures.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"
#include "report/leaves.hpp"

namespace ridgeline::report::figures {
namespace {

using document::Node;

constexpr std::string_view kRateKey = "request_rate";
constexpr std::size_t kMostRateLines = 6;
constexpr std::size_t kMostCells = 40;  ///< On a side.
constexpr std::array<std::string_view, kMostRateLines> kRateColours = {
    "la", "lb", "lc", "ld", "le", "lf"};

std::string_view last_word(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

/// What a point serves within its targets; without targets, what it serves.
double served_by(const Node& result) {
  return number_at(result, "goodput", number_at(result, "request_throughput"));
}

bool misses_target(const Node& result) {
  const Node* const met = result.find("meets_slo");
  return met != nullptr && met->kind() == Node::Kind::kBool && !met->as_bool();
}

/// What a rate counts: where a workload's requests are turns of sessions, it is that of sessions.
struct RateUnit {
  std::string name = "req/s";
  std::string words = "requests per second";
};

RateUnit unit_of(const std::vector<Node>& rows) {
  for (const Node& row : rows) {
    const Node* const result = row.find("result");
    const double sessions =
        result == nullptr || !result->is_map() ? 0.0 : number_at(*result, "sessions");
    if (sessions > 0.0) {
      return {.name = "sessions/s",
              .words = fmt::format("sessions per second, of {} requests each",
                                   significant(number_at(*result, "requests") / sessions))};
    }
  }
  return {};
}

/// Runs that differ in their rate alone.
struct RateLine {
  std::string label;
  std::vector<std::pair<double, const Node*>> runs;  ///< By rate.

  /// The highest rate up to which every target is met, and the next; nothing where all or none are.
  [[nodiscard]] std::optional<std::pair<double, double>> knee() const {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (misses_target(*runs[i].second)) {
        return i == 0 ? std::nullopt : std::optional(std::pair(runs[i - 1].first, runs[i].first));
      }
    }
    return std::nullopt;
  }
};

std::vector<RateLine> rate_lines(const std::vector<Node>& rows) {
  std::vector<RateLine> lines;
  for (const Node& row : rows) {
    const Node* const point = row.find("point");
    const Node* const result = row.find("result");
    if (point == nullptr || result == nullptr || !result->is_map()) {
      continue;
    }
    std::string label;
    std::optional<double> rate;
    for (const auto& member : point->members()) {
      if (last_word(member.key) == kRateKey && member.value.is_number()) {
        rate = member.value.as_real();
      } else {
        label += fmt::format(
            "{}{} {}", label.empty() ? "" : ", ", last_word(member.key), leaf_text(member.value));
      }
    }
    if (!rate) {
      continue;
    }
    auto line = std::ranges::find(lines, label, &RateLine::label);
    if (line == lines.end()) {
      line = lines.insert(lines.end(), {.label = label, .runs = {}});
    }
    line->runs.emplace_back(*rate, result);
  }
  std::erase_if(lines, [](const RateLine& line) { return line.runs.size() < 2; });
  for (RateLine& line : lines) {
    std::ranges::stable_sort(line.runs, {}, [](const auto& run) { return run.first; });
  }
  lines.resize(std::min(lines.size(), kMostRateLines));
  return lines;
}

struct RateLane {
  std::string_view name;
  std::string_view path;  ///< Path in the result; empty: served_by().
};
constexpr std::array<RateLane, 4> kRateLanes = {{{"TTFT p50, ms", "ttft_ms.p50"},
                                                 {"TTFT p99, ms", "ttft_ms.p99"},
                                                 {"TPOT p99, ms", "tpot_ms.p99"},
                                                 {"within the targets, req/s", ""}}};

double lane_value(const RateLane& lane, const Node& result) {
  return lane.path.empty() ? served_by(result) : number_at(result, lane.path);
}

void draw_rate_lane(const RateLane& lane,
                    const std::vector<RateLine>& lines,
                    double top,
                    const Scale& x,
                    Canvas& canvas) {
  constexpr double kLaneHeight = 110.0;
  double most = 0.0;
  for (const RateLine& line : lines) {
    for (const auto& [rate, result] : line.runs) {
      most = std::max(most, lane_value(lane, *result));
    }
  }
  const Scale y = Scale::from_zero(most, top + kLaneHeight, top);
  canvas.axis_left(y, kPlotLeft, kPlotRight);
  canvas.text({.x = 4.0, .y = top - 8.0}, "start", "quiet", lane.name);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<Spot> spots;
    for (const auto& [rate, result] : lines[i].runs) {
      spots.push_back({.x = x.pixel(rate), .y = y.pixel(lane_value(lane, *result))});
    }
    canvas.path(spots, kRateColours[i]);
    if (const auto knee = lines[i].knee(); knee && lane.path.empty()) {
      canvas.bar({.x = x.pixel(knee->first), .y = top},
                 {.x = x.pixel(knee->second), .y = top + kLaneHeight},
                 "ba",
                 fmt::format("{}: targets are missed from here on", lines[i].label));
    }
  }
}

/// The values of an axis as text, in the order in which they come.
struct MapAxis {
  std::string path;
  std::vector<std::string> values;

  std::size_t place_of(const std::string& value) {
    const auto found = std::ranges::find(values, value);
    if (found != values.end()) {
      return static_cast<std::size_t>(found - values.begin());
    }
    values.push_back(value);
    return values.size() - 1;
  }
};

/// The axes of a sweep that have more than one value.
std::vector<MapAxis> moving_axes(const std::vector<Node>& rows) {
  std::vector<MapAxis> axes;
  for (const Node& row : rows) {
    const Node* const point = row.find("point");
    for (std::size_t i = 0; point != nullptr && i < point->members().size(); ++i) {
      const auto& member = point->members()[i];
      auto axis = std::ranges::find(axes, member.key, &MapAxis::path);
      if (axis == axes.end()) {
        axis = axes.insert(axes.end(), {.path = member.key, .values = {}});
      }
      static_cast<void>(axis->place_of(leaf_text(member.value)));
    }
  }
  std::erase_if(axes, [](const MapAxis& axis) { return axis.values.size() < 2; });
  return axes;
}

/// Lines across a cell, the missed ones' mark: it does not take colours.
void hatch(Spot from, Spot to, Canvas& canvas) {
  constexpr double kBetween = 9.0;
  const double width = to.x - from.x;
  const double height = to.y - from.y;
  for (double at = kBetween; at < width + height; at += kBetween) {
    const double below = std::max(at - width, 0.0);
    const double right = std::max(at - height, 0.0);
    canvas.line({.x = from.x + right, .y = from.y + std::min(at, height)},
                {.x = from.x + std::min(at, width), .y = from.y + below},
                "whisker");
  }
}

constexpr double kMapLeft = 150.0;
constexpr double kMapTop = 30.0;
constexpr double kCellHeight = 32.0;
constexpr double kWidestText = 52.0;

/// The results of a sweep by their places on two axes.
struct SweepCells {
  MapAxis down;
  MapAxis across;
  std::map<std::pair<std::size_t, std::size_t>, const Node*> results = {};
  double most = 0.0;  ///< That a point serves.

  [[nodiscard]] double width() const {
    return (kPlotRight - kMapLeft) / static_cast<double>(across.values.size());
  }
  [[nodiscard]] double height() const {
    return kCellHeight * static_cast<double>(down.values.size());
  }
};

SweepCells map_cells(const std::vector<Node>& rows, MapAxis down, MapAxis across) {
  SweepCells cells{.down = std::move(down), .across = std::move(across)};
  for (const Node& row : rows) {
    const Node* const point = row.find("point");
    const Node* const result = row.find("result");
    if (point == nullptr || result == nullptr || !result->is_map()) {
      continue;
    }
    const auto place = [&](MapAxis& axis) {
      const Node* const value = point->find(axis.path);
      return axis.place_of(value == nullptr ? "" : leaf_text(*value));
    };
    const std::size_t line = place(cells.down);
    cells.results[{line, place(cells.across)}] = result;
    cells.most = std::max(cells.most, served_by(*result));
  }
  return cells;
}

void draw_cell(const SweepCells& cells,
               std::pair<std::size_t, std::size_t> place,
               const Node& result,
               Canvas& canvas) {
  const Spot from = {.x = kMapLeft + cells.width() * static_cast<double>(place.second),
                     .y = kMapTop + kCellHeight * static_cast<double>(place.first)};
  const Spot to = {.x = from.x + cells.width() - 1.0, .y = from.y + kCellHeight - 1.0};
  const double value = served_by(result);
  // Half as dark as the colour is: the number on it stays to be read.
  canvas.heat(std::array{Canvas::HeatCell{
      .from = from, .to = to, .level = cells.most > 0.0 ? value / cells.most / 2.0 : 0.0}});
  if (misses_target(result)) {
    hatch(from, to, canvas);
  }
  if (cells.width() >= kWidestText) {
    canvas.text({.x = (from.x + to.x) / 2.0, .y = (from.y + to.y) / 2.0 + 4.0},
                "middle",
                "strong",
                significant(value));
  }
}

void draw_map_axes(const SweepCells& cells, Canvas& canvas) {
  const double bottom = kMapTop + cells.height();
  for (std::size_t i = 0; i < cells.down.values.size(); ++i) {
    canvas.text(
        {.x = kMapLeft - 8.0, .y = kMapTop + kCellHeight * (static_cast<double>(i) + 0.5) + 4.0},
        "end",
        "",
        cells.down.values[i]);
  }
  const auto every = 1 + static_cast<std::size_t>(kWidestText / cells.width());
  for (std::size_t i = 0; i < cells.across.values.size(); i += every) {
    canvas.text(
        {.x = kMapLeft + cells.width() * (static_cast<double>(i) + 0.5), .y = bottom + 16.0},
        "middle",
        "",
        cells.across.values[i]);
  }
  canvas.text({.x = 4.0, .y = kMapTop - 12.0}, "start", "quiet", last_word(cells.down.path));
  canvas.text({.x = (kMapLeft + kPlotRight) / 2.0, .y = bottom + 36.0},
              "middle",
              "quiet",
              last_word(cells.across.path));
}

}  // namespace

Figure rate_curves(const std::vector<Node>& rows) {
  constexpr double kFirstTop = 56.0;
  constexpr double kLaneStep = 150.0;
  const RateUnit unit = unit_of(rows);
  Figure figure{.id = "rates",
                .title = "Latency and goodput against the request rate",
                .caption =
                    "A run at each rate. The shaded rates are those between which a target "
                    "begins to be missed.",
                .head = {"settings", unit.words}};
  const std::vector<RateLine> lines = rate_lines(rows);
  if (lines.empty()) {
    return figure;
  }
  double least = lines.front().runs.front().first;
  double most = least;
  for (const RateLine& line : lines) {
    least = std::min(least, line.runs.front().first);
    most = std::max(most, line.runs.back().first);
  }
  const double bottom = kFirstTop + kLaneStep * static_cast<double>(kRateLanes.size()) - 40.0;
  Canvas canvas(kPictureWidth, bottom + 44.0);
  const Scale x = Scale::from_zero(most, kPlotLeft, kPlotRight);
  for (std::size_t i = 0; i < kRateLanes.size(); ++i) {
    figure.head.emplace_back(kRateLanes[i].name);
    draw_rate_lane(kRateLanes[i], lines, kFirstTop + kLaneStep * static_cast<double>(i), x, canvas);
  }
  canvas.axis_below(x, bottom, kFirstTop, unit.words);
  const double key_width = (kPlotRight - kPlotLeft) / static_cast<double>(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double at = kPlotLeft + key_width * static_cast<double>(i);
    canvas.line({.x = at, .y = 12.0}, {.x = at + 22.0, .y = 12.0}, kRateColours[i]);
    canvas.text({.x = at + 28.0, .y = 16.0}, "start", "", lines[i].label);
    const auto knee = lines[i].knee();
    figure.description +=
        fmt::format("{}{}{}",
                    figure.description.empty() ? "" : " ",
                    lines[i].label.empty() ? "" : lines[i].label + ": ",
                    knee ? fmt::format("targets are met up to {} {} and missed at {}.",
                                       significant(knee->first),
                                       unit.name,
                                       significant(knee->second))
                         : fmt::format("{} rates.", lines[i].runs.size()));
    for (const auto& [rate, result] : lines[i].runs) {
      std::vector<std::string> row = {lines[i].label, significant(rate)};
      for (const RateLane& lane : kRateLanes) {
        row.push_back(significant(lane_value(lane, *result)));
      }
      figure.rows.push_back(std::move(row));
    }
  }
  figure.draw(canvas);
  return figure;
}

Figure sweep_map(const std::vector<Node>& rows) {
  Figure figure{.id = "map",
                .title = "Requests per second within the targets, by both axes",
                .caption = "The darker, the more. Hatched: a target is missed. Empty: no result.",
                .head = {}};
  auto axes = moving_axes(rows);
  if (axes.size() != 2 || axes[0].values.size() > kMostCells ||
      axes[1].values.size() > kMostCells) {
    return figure;
  }
  const SweepCells cells = map_cells(rows, std::move(axes[0]), std::move(axes[1]));
  figure.head = {std::string(last_word(cells.down.path)),
                 std::string(last_word(cells.across.path)),
                 "requests per second",
                 "targets"};
  Canvas canvas(kPictureWidth, kMapTop + cells.height() + 44.0);
  std::size_t missed = 0;
  for (const auto& [place, result] : cells.results) {
    draw_cell(cells, place, *result, canvas);
    missed += misses_target(*result) ? 1U : 0U;
    const Node* const met = result->find("meets_slo");
    figure.rows.push_back({cells.down.values[place.first],
                           cells.across.values[place.second],
                           significant(served_by(*result)),
                           met == nullptr || met->kind() != Node::Kind::kBool ? "\u2013"
                           : met->as_bool()                                   ? "met"
                                                                              : "missed"});
  }
  draw_map_axes(cells, canvas);
  figure.description = fmt::format("{} of {} points miss a target; the most that one serves is {}.",
                                   missed,
                                   cells.results.size(),
                                   significant(cells.most));
  figure.draw(canvas);
  return figure;
}

}  // namespace ridgeline::report::figures

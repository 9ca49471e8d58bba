#include "report/front_page.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/basis.hpp"
#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/front.hpp"
#include "report/chart/svg.hpp"
#include "report/chart/sweep_pictures.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/leaves.hpp"
#include "report/scale.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using figures::FrontPoint;
using figures::number_at;

/// A deployment with all that a page says of it.
struct Choice {
  std::string label;
  std::string gpu;
  double speed = 0.0;     ///< A user's tokens per second; 0: not known.
  double e2e_ms = 0.0;    ///< End-to-end latency of a request; 0: not known.
  double served = 0.0;    ///< Per GPU.
  bool is_bound = false;  ///< No estimate: it is never the best beside one.
};

struct Found {
  std::string served_name;
  std::string statistic;  ///< What TPOT and E2E are.
  std::vector<Choice> choices = {};
  std::vector<std::vector<std::string>> refused = {};  ///< Label and reason.
  std::vector<figures::Figure> pictures = {};          ///< Beside the fronts.
};

/// "tensor_parallel_size 2, request_rate 8": the last words of the paths; the GPU apart.
std::string label_of_point(const Node& point) {
  std::string label;
  for (const auto& member : point.members()) {
    if (member.key == "gpu") {
      continue;
    }
    const std::string_view path = member.key;
    const std::size_t dot = path.rfind('.');
    label += fmt::format("{}{} {}",
                         label.empty() ? "" : ", ",
                         dot == std::string_view::npos ? path : path.substr(dot + 1),
                         leaf_text(member.value));
  }
  return label;
}

std::string reason_of_row(const Node& row) {
  const Node* const errors = row.find("errors");
  if (errors != nullptr && errors->is_list() && !errors->items().empty()) {
    return text_at(errors->items().front(), "message");
  }
  return text_at(row, "status");
}

std::vector<FrontPoint> points_of(const Found& found, double Choice::* x) {
  std::vector<FrontPoint> points;
  for (const Choice& choice : found.choices) {
    points.push_back(
        {.label = choice.label, .gpu = choice.gpu, .x = choice.*x, .y = choice.served});
  }
  return points;
}

/// The best choice of those that are at least so fast, at round speeds.
std::string best_html(const Found& found) {
  constexpr std::array<double, 7> kSpeeds = {10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0};
  std::vector<std::vector<std::string>> rows;
  for (const double speed : kSpeeds) {
    const Choice* best = nullptr;
    for (const Choice& choice : found.choices) {
      const auto worth = [](const Choice& one) { return std::pair(!one.is_bound, one.served); };
      if (choice.speed >= speed && (best == nullptr || worth(choice) > worth(*best))) {
        best = &choice;
      }
    }
    if (best != nullptr) {
      rows.push_back({significant(speed),
                      xml_escaped(best->gpu),
                      xml_escaped(best->label),
                      significant(best->served),
                      significant(best->speed)});
    }
  }
  if (rows.empty()) {
    return {};
  }
  return "<section id=\"best\">\n<h2>The most that is served at a user's speed</h2>\n" +
         table_html({"tok/s/user, at least", "GPU", "settings", found.served_name, "tok/s/user"},
                    rows) +
         "</section>\n";
}

std::string refused_html(const Found& found) {
  constexpr std::size_t kMostRefused = 50;
  if (found.refused.empty()) {
    return {};
  }
  std::vector<std::vector<std::string>> rows(
      found.refused.begin(),
      found.refused.begin() +
          static_cast<std::ptrdiff_t>(std::min(found.refused.size(), kMostRefused)));
  return fmt::format("<section id=\"refused\">\n<h2>Left out: {}{}</h2>\n{}</section>\n",
                     grouped(static_cast<std::int64_t>(found.refused.size())),
                     rows.size() < found.refused.size() ? ", the first of them" : "",
                     table_html({"", "reason"}, rows));
}

std::string page_of(const Found& found, const std::string& title, std::string_view what) {
  std::string page = page_opening(title);
  page += fmt::format("<p>{}</p>\n", what);
  std::vector<figures::Figure> all = {
      figures::front(
          points_of(found, &Choice::speed),
          {.id = "interactivity",
           .title = fmt::format("{}, against a user's speed", found.served_name),
           .caption = fmt::format(
               "A user's speed is 1 / TPOT ({}). Lines are each GPU's front: no point of "
               "that GPU is better on both axes. Grey points are dominated.",
               found.statistic),
           .x_name = "tokens per second of one user",
           .y_name = found.served_name}),
      figures::front(points_of(found, &Choice::e2e_ms),
                     {.id = "e2e",
                      .title = fmt::format("{}, against E2E", found.served_name),
                      .caption = fmt::format("E2E is its {}; less is better.", found.statistic),
                      .x_name = "E2E, ms",
                      .y_name = found.served_name,
                      .less_is_better = true})};
  all.insert(all.end(), found.pictures.begin(), found.pictures.end());
  bool drawn = false;
  for (const figures::Figure& figure : all) {
    if (!figure.marks.empty()) {
      page += figure_section(figure);
      drawn = true;
    }
  }
  if (!drawn) {
    page += "<p>No point has a number to draw.</p>\n";
  }
  return page + best_html(found) + refused_html(found) + page_closing("");
}

}  // namespace

std::string sweep_page(const std::vector<Node>& rows, std::string_view file) {
  Found found{.served_name = "output tokens per second and GPU", .statistic = "p50"};
  for (const Node& row : rows) {
    const Node* const point = row.find("point");
    const std::string label = label_of_point(*point);
    const Node* const result = row.find("result");
    if (result == nullptr || !result->is_map()) {
      found.refused.push_back({xml_escaped(label), xml_escaped(reason_of_row(row))});
      continue;
    }
    const double tpot = number_at(*result, "tpot_ms.p50");
    const bool is_bound = text_at(*result, "basis") == document::kBoundWords;
    found.choices.push_back(
        {.label = is_bound ? fmt::format("{}, {}", label, document::kBoundWords) : label,
         .gpu = text_at(*point, "gpu"),
         .speed = tpot > 0.0 ? kMillisecondsPerSecond / tpot : 0.0,
         .e2e_ms = number_at(*result, "e2e_ms.p50"),
         .served = number_at(*result, "output_throughput") /
                   std::max(number_at(*result, "gpus", 1.0), 1.0),
         .is_bound = is_bound});
  }
  found.pictures = {figures::rate_curves(rows), figures::sweep_map(rows)};
  return page_of(found,
                 fmt::format("Sweep of {} points: {}", rows.size(), file),
                 "A sweep: every point ran once, by its own load.");
}

}  // namespace ridgeline::report

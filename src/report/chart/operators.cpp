#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

/// Operators that get a bar of their own; the others are one together.
constexpr std::size_t kOperatorMostBars = 10;
constexpr double kOperatorRow = 19.0;
constexpr double kOperatorFirstRow = 58.0;
constexpr double kOperatorColumn = 480.0;
constexpr double kOperatorLabels = 158.0;
constexpr double kOperatorLongestBar = 190.0;

struct Operator {
  std::string name;
  std::string bottleneck;
  double us = 0.0;
};

std::string word_at(const document::Node& node, std::string_view key) {
  const document::Node* const value = node.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

/// The step's operators, the longest first, the table's rows with them.
std::vector<Operator> operators_of(const document::Node& step,
                                   std::string_view name,
                                   Figure& figure) {
  std::vector<Operator> all;
  const double step_us = number_at(step, "us");
  const document::Node* const parts = step.find("parts");
  for (std::size_t i = 0; parts != nullptr && i < parts->items().size(); ++i) {
    const document::Node& part = parts->items()[i];
    all.push_back({.name = word_at(part, "operator"),
                   .bottleneck = word_at(part, "bottleneck"),
                   .us = number_at(part, "us")});
  }
  std::ranges::stable_sort(all, [](const Operator& a, const Operator& b) { return a.us > b.us; });
  for (const Operator& one : all) {
    figure.rows.push_back({std::string(name),
                           one.name,
                           one.bottleneck,
                           significant(one.us),
                           step_us > 0.0 ? percent(one.us / step_us) : "-"});
  }
  if (all.size() > kOperatorMostBars) {
    Operator rest{.name = fmt::format("{} more", all.size() - kOperatorMostBars + 1),
                  .bottleneck = "rest"};
    for (std::size_t i = kOperatorMostBars - 1; i < all.size(); ++i) {
      rest.us += all[i].us;
    }
    all.resize(kOperatorMostBars - 1);
    all.push_back(std::move(rest));
  }
  return all;
}

std::string_view colour_of(std::string_view bottleneck) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kColours = {
      {{"memory", "fa"}, {"compute", "fb"}, {"network", "fc"}, {"overhead", "fd"}}};
  for (const auto& [kind, css_class] : kColours) {
    if (kind == bottleneck) {
      return css_class;
    }
  }
  return "fe";
}

/// The bars of one step, right of and below `corner`.
void draw_step(const std::vector<Operator>& all,
               double step_us,
               Spot corner,
               std::string_view title,
               Canvas& canvas) {
  const double left = corner.x;
  canvas.text({.x = left, .y = corner.y + 40.0}, "start", "strong", title);
  const double longest = all.empty() ? 0.0 : all.front().us;
  double most = longest;
  for (const Operator& one : all) {
    most = std::max(most, one.us);
  }
  double y = corner.y + kOperatorFirstRow;
  for (const Operator& one : all) {
    const double length = most > 0.0 ? kOperatorLongestBar * one.us / most : 0.0;
    canvas.text({.x = left + kOperatorLabels - 6.0, .y = y + 11.0}, "end", "", one.name);
    canvas.bar({.x = left + kOperatorLabels, .y = y},
               {.x = left + kOperatorLabels + length, .y = y + kOperatorRow - 5.0},
               colour_of(one.bottleneck),
               fmt::format("{}: {} us, {}", one.name, significant(one.us), one.bottleneck));
    canvas.text(
        {.x = left + kOperatorLabels + length + 5.0, .y = y + 11.0},
        "start",
        "quiet",
        fmt::format(
            "{} us, {}", significant(one.us), step_us > 0.0 ? percent(one.us / step_us) : "-"));
    y += kOperatorRow;
  }
}

void draw_bottleneck_keys(Canvas& canvas) {
  double x = 0.0;
  for (const std::string_view kind : {"memory", "compute", "network", "overhead"}) {
    canvas.bar({.x = x, .y = 5.0}, {.x = x + 12.0, .y = 15.0}, colour_of(kind));
    canvas.text({.x = x + 16.0, .y = 14.0}, "start", "quiet", kind);
    x += 96.0;
  }
}

struct Step {
  std::string_view key;
  std::string_view name;
  std::string_view of;  ///< A word before its title.
};
/// Two columns: decode steps left, prompts right.
constexpr std::array<Step, 4> kSteps = {
    {{.key = "mean_steps.decode", .name = "decode", .of = ""},
     {.key = "mean_steps.prompt", .name = "prompt", .of = ""},
     {.key = "findings.worst.decode", .name = "decode, worst", .of = "worst stretch: "},
     {.key = "findings.worst.prompt", .name = "prompt, worst", .of = "worst stretch: "}}};

std::string title_of(const Step& step, const document::Node& node, bool is_decode) {
  const std::string us = significant(number_at(node, "us"));
  return is_decode ? fmt::format("{}decode: {} requests with {} tokens, {} us",
                                 step.of,
                                 significant(number_at(node, "requests")),
                                 significant(number_at(node, "context_tokens")),
                                 us)
                   : fmt::format("{}prompt of {} tokens, {} us",
                                 step.of,
                                 significant(number_at(node, "prompt_tokens")),
                                 us);
}

}  // namespace

Figure operators(const document::Node& result) {
  Figure figure{.id = "operators",
                .title = "Which operators a step spends its time in, in us",
                .caption =
                    "Left one step of the mean decode batch while steps ran, right one of the "
                    "mean prompt alone, each as the run's step-time model prices it; below them "
                    "those of the worst stretch, where its batch is another. Colours are "
                    "what holds an operator up: of a kernel whose tiles are mostly empty that is "
                    "arithmetic, although the useful part of it lies below the slope of the "
                    "roofline.",
                .head = {"step", "operator", "held up by", "us", "share"}};
  const std::size_t steps = worst_differs(result) ? kSteps.size() : kSteps.size() / 2;
  std::array<std::vector<Operator>, kSteps.size()> bars;
  std::array<double, kSteps.size() / 2> heights{};
  for (std::size_t i = 0; i < steps; ++i) {
    const document::Node* const step = at_path(result, kSteps[i].key);
    if (step != nullptr && step->is_map()) {
      bars[i] = operators_of(*step, kSteps[i].name, figure);
      heights[i / 2] = std::max(
          heights[i / 2], kOperatorFirstRow + kOperatorRow * static_cast<double>(bars[i].size()));
    }
  }
  if (heights[0] <= 0.0) {
    return figure;
  }
  Canvas canvas(2.0 * kOperatorColumn, heights[0] + heights[1]);
  draw_bottleneck_keys(canvas);
  for (std::size_t i = 0; i < steps; ++i) {
    if (bars[i].empty()) {
      continue;
    }
    const document::Node& step = *at_path(result, kSteps[i].key);
    const std::string title = title_of(kSteps[i], step, i % 2 == 0);
    const Spot corner = {.x = i % 2 == 0 ? 0.0 : kOperatorColumn, .y = i < 2 ? 0.0 : heights[0]};
    draw_step(bars[i], number_at(step, "us"), corner, title, canvas);
    figure.description += fmt::format(
        "{}{}; longest: {}.", figure.description.empty() ? "" : " ", title, bars[i].front().name);
  }
  figure.draw(canvas);
  return figure;
}

}  // namespace ridgeline::report::figures

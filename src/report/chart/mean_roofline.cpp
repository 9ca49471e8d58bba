#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/roofline_svg.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

/// The operators of a step of `mean_steps`, all of one phase.
void add_operators(const document::Node& step,
                   std::string_view phase,
                   std::vector<RooflinePart>& parts_drawn,
                   Figure& figure) {
  const document::Node* const parts = step.find("parts");
  for (std::size_t i = 0; parts != nullptr && i < parts->items().size(); ++i) {
    const document::Node& part = parts->items()[i];
    const document::Node* const name = part.find("operator");
    RooflinePart one{.name = name != nullptr && name->is_string() ? name->as_string() : "",
                     .phase = std::string(phase),
                     .flops = number_at(part, "flops"),
                     .bytes = number_at(part, "bytes"),
                     .seconds = number_at(part, "us") / 1e6};
    if (one.flops > 0.0 && one.bytes > 0.0 && one.seconds > 0.0) {
      figure.rows.push_back({std::string(phase),
                             one.name,
                             significant(one.flops / one.bytes),
                             significant(one.flops / one.seconds / 1e12)});
    }
    parts_drawn.push_back(std::move(one));
  }
}

/// Roofline of the decode and the prompt step below the key `steps`.
Figure roofline_of(const document::Node& result, std::string_view steps, Figure figure) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSteps = {
      {{"decode", "decode"}, {"prompt", "prefill"}}};
  figure.head = {"step", "operator", "FLOP per byte", "TFLOP/s"};
  Roofline roofline{.title = "",
                    .subtitle = "",
                    .peaks = {},
                    .bandwidth = number_at(result, "mean_steps.bytes_per_s"),
                    .shares = "share of the two steps' time"};
  const document::Node* const roofs = at_path(result, "mean_steps.roofs");
  if (roofs == nullptr || !roofs->is_map() || roofline.bandwidth <= 0.0) {
    return figure;
  }
  for (const auto& member : roofs->members()) {
    const double peak = member.value.is_number() ? member.value.as_real() : 0.0;
    if (peak > 0.0) {
      roofline.peaks.push_back({.format = member.key, .peak = peak});
    }
  }
  std::ranges::stable_sort(roofline.peaks, {}, &RooflinePeak::peak);
  std::vector<RooflinePart> parts;
  for (const auto& [key, phase] : kSteps) {
    if (const document::Node* const step = at_path(result, fmt::format("{}.{}", steps, key));
        step != nullptr && step->is_map()) {
      add_operators(*step, phase, parts, figure);
    }
  }
  if (roofline.peaks.empty() || figure.rows.empty()) {
    return figure;
  }
  figure.width = kRooflineWidth;
  figure.height = kRooflineHeight;
  figure.marks = roofline_marks(roofline, parts);
  figure.description =
      fmt::format("{} operators of a decode step and a prompt under {}.",
                  figure.rows.size(),
                  counted(static_cast<std::int64_t>(roofline.peaks.size()), "roof"));
  return figure;
}

}  // namespace

Figure mean_roofline(const document::Node& result) {
  return roofline_of(
      result,
      "mean_steps",
      {.id = "roofline",
       .title = "How far operators are from the GPU's roofs, in FLOP per second",
       .caption = "The two steps of the run's means: left of a ridge memory bandwidth limits "
                  "an operator, right of it arithmetic."});
}

Figure worst_roofline(const document::Node& result) {
  Figure figure{.id = "roofline-worst",
                .title = "The same in the worst stretch, in FLOP per second",
                .caption = "The two steps of the means of the run's worst stretch."};
  return worst_differs(result) ? roofline_of(result, "findings.worst", std::move(figure)) : figure;
}

}  // namespace ridgeline::report::figures

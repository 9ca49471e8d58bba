#include "verbs/step_view.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "verbs/compared_table.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;
using document::text_node;
using report::figures::number_at;

constexpr std::int64_t kSchemaVersion = 1;

const char* bottleneck_name(domain::Bottleneck kind) {
  return domain::kBottleneckNames[static_cast<std::size_t>(kind)];
}

document::Node part_tree(const latency::OperatorTime& part) {
  return MapBuilder()
      .add("operator", part.name)
      .add("phase", part.phase)
      .add("shape", part.shape)
      .add("calls", part.calls)
      .add("flops", part.flops.value())
      .add("bytes", part.bytes.value())
      .add("us", core::exact_microseconds(part.time))
      .add("bottleneck", bottleneck_name(part.bottleneck))
      .add("source", part.source)
      .add("distance", part.distance);
}

/// The GPU time of a step by the bottlenecks of its parts; what rounding is worth goes to the
/// greatest.
domain::StepTime time_by_label(const latency::Explanation& explanation) {
  domain::StepTime time;
  for (const latency::OperatorTime& part : explanation.parts) {
    time.add(part.bottleneck, core::Duration::saturating(part.time));
  }
  const domain::Bottleneck greatest = bottleneck_of(time);
  time.by_bottleneck[static_cast<std::size_t>(greatest)] += explanation.total.gpu() - time.gpu();
  return time;
}

std::vector<std::string> texts_at(const Node& tree, std::string_view path) {
  std::vector<std::string> texts;
  for (const Node* text : report::rows_at(tree, path)) {
    texts.push_back(report::cell_text(text, report::Format::kText));
  }
  return texts;
}

/// Which side of a roofline's maximum a step pays for, by phase: its memory side has the weights.
std::string longer_sides(const Node& tree) {
  std::vector<std::string> sides;
  for (const auto& [key, side] : {std::pair("parts", "memory"), std::pair("hidden", "compute")}) {
    for (const Node* part : report::rows_at(tree, key)) {
      if (report::text_at(*part, "operator") == "weights") {
        sides.push_back(fmt::format("{} ({})", side, report::text_at(*part, "phase")));
      }
    }
  }
  return fmt::format("{}", fmt::join(sides, ", "));
}

std::string source_text(const Node& part) {
  const Node& distance = node_at(part, "distance");
  return report::text_at(part, "source") +
         (distance.is_number() ? fmt::format(" ({} away)", report::significant(distance.as_real()))
                               : std::string());
}

/// The operators of each source, that of most operators first.
std::vector<std::pair<std::string, std::vector<std::string>>> by_source(const report::Rows& parts) {
  std::vector<std::pair<std::string, std::vector<std::string>>> sources;
  for (const Node* part : parts) {
    const std::string source = source_text(*part);
    auto known = std::ranges::find(sources, source, [](const auto& pair) { return pair.first; });
    if (known == sources.end()) {
      known = sources.insert(known, {source, {}});
    }
    known->second.push_back(report::text_at(*part, "operator"));
  }
  std::ranges::stable_sort(
      sources, std::greater(), [](const auto& pair) { return pair.second.size(); });
  return sources;
}

const report::TableView kParts{
    .columns = {{.title = "operator", .path = "operator"},
                {.title = "phase", .path = "phase"},
                {.title = "shape", .path = "shape", .shrink = 1},
                {.title = "calls", .path = "calls", .format = report::Format::kCount},
                {.title = "us", .path = "us", .format = report::Format::kSignificant},
                {.title = "share", .path = "share", .format = report::Format::kShare},
                {.title = "FLOP/B",
                 .path = "flop_per_byte",
                 .format = report::Format::kSignificant,
                 .drop = 1},
                {.title = "bottleneck", .path = "bottleneck"},
                {.title = "source", .path = "source", .on = report::Column::On::kPages}}};

/// A table of operators. Most have one source: a terminal has it below them, and then the others.
void add_parts(report::Sheet& sheet, const Node& tree, std::string_view path, std::string title) {
  const double step_us = number_at(tree, "step_us");
  const report::Rows parts = report::rows_at(tree, path);
  report::TableView view = kParts;
  view.title = std::move(title);
  sheet.table(std::move(view),
              document::list_of(parts, [&](const Node* part) -> Node {
                const double bytes = number_at(*part, "bytes");
                const double flops = number_at(*part, "flops");
                MapBuilder row;
                for (const auto& [key, value, where] : members_at(*part, "")) {
                  row.add(key, key == "source" ? text_node(source_text(*part)) : value);
                }
                const double us = number_at(*part, "us");
                return row.add("share", step_us > 0.0 ? std::optional(us / step_us) : std::nullopt)
                    .add("flop_per_byte",
                         bytes > 0.0 && flops > 0.0 ? std::optional(flops / bytes) : std::nullopt);
              }).items());
  bool is_usual = true;
  for (auto& [source, names] : by_source(parts)) {
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    sheet.sentence(is_usual ? "source: " + source
                            : fmt::format("source of {}: {}", fmt::join(names, ", "), source));
    is_usual = false;
  }
}

/// Several models on one batch: a column each, and the ratios to the first.
report::Sheet comparison_sheet(const report::Rows& models) {
  const std::string none = "\u2013";
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> operators;
  for (const Node* model : models) {
    names.push_back(report::text_at(*model, "model"));
    for (const Node* part : report::rows_at(*model, "parts")) {
      std::pair key(report::text_at(*part, "operator"), report::text_at(*part, "phase"));
      if (std::ranges::find(operators, key) == operators.end()) {
        operators.push_back(std::move(key));
      }
    }
  }
  ComparedTable table("us", "phase", names, models);
  for (const auto& [name, phase] : operators) {
    table.add(name, phase, [&](const Node& model) {
      std::optional<double> sum;
      for (const Node* part : report::rows_at(model, "parts")) {
        if (report::text_at(*part, "operator") == name &&
            report::text_at(*part, "phase") == phase) {
          sum = sum.value_or(0.0) + number_at(*part, "us");
        }
      }
      return sum ? report::significant(*sum) : none;
    });
  }
  const double first = number_at(*models.front(), "step_us");
  table.add("step", "", [](const Node& model) {
    return report::significant(number_at(model, "step_us"));
  });
  table.add("ratio", "", [&](const Node& model) {
    return first > 0.0 ? report::significant(number_at(model, "step_us") / first) : none;
  });
  table.add(
      "bottleneck", "", [](const Node& model) { return report::text_at(model, "bottleneck"); });
  report::Sheet sheet("Step by several models");
  sheet.line(texts_at(*models.front(), "headline")).gap();
  table.add_to(sheet);
  for (const Node* model : models) {
    sheet.warnings(document::warnings_of(node_at(*model, "warnings")));
  }
  return sheet;
}

}  // namespace

document::Node parts_tree(const std::vector<latency::OperatorTime>& parts) {
  return list_of(parts, part_tree);
}

domain::Bottleneck bottleneck_of(const domain::StepTime& time) {
  const auto most = std::max_element(time.by_bottleneck.begin(), time.by_bottleneck.end());
  return static_cast<domain::Bottleneck>(most - time.by_bottleneck.begin());
}

namespace {

document::Node charged_tree(const StepReport& report) {
  if (!report.charged) {
    return {};
  }
  return MapBuilder()
      .add("decode_flops", report.charged->flops)
      .add("own_flops", report.charged->own_flops)
      .add("shortest_over_own", report.charged->shortest_ratio);
}

}  // namespace

document::Node step_tree(const StepReport& report) {
  const domain::StepTime& total = report.explanation.total;
  const domain::StepTime labelled = time_by_label(report.explanation);
  MapBuilder kinds;
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    kinds.add(domain::kBottleneckNames[i], labelled.by_bottleneck[i].to_microseconds());
  }
  return MapBuilder()
      .add("schema_version", kSchemaVersion)
      .add("model", report.model)
      .add("headline", report.headline)
      .add("step_us", total.gpu().to_microseconds())
      .add("bottleneck", bottleneck_name(bottleneck_of(labelled)))
      .add("cpu_us", total.cpu.to_microseconds())
      .add("time_by_bottleneck", kinds.build())
      .add("parts", parts_tree(report.explanation.parts))
      .add("hidden", parts_tree(report.explanation.hidden))
      .add("rounding_us", core::exact_microseconds(report.explanation.rounding))
      .add("charged_attention", charged_tree(report))
      .add("config", report.config)
      .add("warnings", report.warnings);
}

document::Node comparison_tree(std::span<const StepReport> reports) {
  return MapBuilder()
      .add("schema_version", kSchemaVersion)
      .add("models", list_of(reports, step_tree));
}

report::Sheet step_sheet(const Node& tree) {
  if (const report::Rows models = report::rows_at(tree, "models"); !models.empty()) {
    return comparison_sheet(models);
  }
  const std::string kind = report::text_at(tree, "bottleneck");
  const double step_us = number_at(tree, "step_us");
  const double share =
      step_us > 0.0 ? number_at(node_at(tree, "time_by_bottleneck"), kind) / step_us : 0.0;
  report::Sheet sheet("Step");
  sheet.line(texts_at(tree, "headline"))
      .line({fmt::format("step {} us", report::significant(step_us)),
             fmt::format("{} {}", kind, report::percent(share)),
             fmt::format("host {} us", report::significant(number_at(tree, "cpu_us"))),
             "model " + report::text_at(tree, "model")})
      .gap();
  add_parts(sheet, tree, "parts", "Operators");
  if (const double rounding = number_at(tree, "rounding_us"); rounding != 0.0) {
    sheet.row(fmt::format("rounding {} us", report::significant(rounding)));
  }
  const double charged = number_at(tree, "charged_attention.decode_flops");
  const double own = number_at(tree, "charged_attention.own_flops");
  if (charged != own) {
    sheet.line(
        {fmt::format("attention of decodes is charged {} FLOPs for {} of its own",
                     report::significant(charged),
                     report::significant(own)),
         fmt::format("{} times for the shortest",
                     report::significant(number_at(tree, "charged_attention.shortest_over_own")))});
  }
  if (!report::rows_at(tree, "hidden").empty()) {
    sheet.gap().row("hidden: the losing side of each maximum, not in the sum");
    if (const std::string sides = longer_sides(tree); !sides.empty()) {
      sheet.row(
          fmt::format("bottleneck: by FLOP/B of the work; the side that took longer: {}", sides));
    }
    add_parts(sheet, tree, "hidden", "Hidden");
  }
  return std::move(sheet.warnings(document::warnings_of(node_at(tree, "warnings"))));
}

}  // namespace ridgeline::verbs

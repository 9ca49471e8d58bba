#include "verbs/step_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/grid.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_of;
using document::MapBuilder;

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

std::string no_share_mark(const report::TextStyle& style) {
  return style.ascii ? "-" : "\u2013";
}

std::string source_text(const latency::OperatorTime& part, const report::TextStyle& style) {
  std::string source = part.source;
  if (part.distance) {
    source += fmt::format(" ({} away)", report::significant(*part.distance));
  }
  return report::printable(source, style.ascii);
}

/// The source that most parts have; the first of several. Nothing for no parts.
std::string usual_source(const std::vector<latency::OperatorTime>& parts,
                         const report::TextStyle& style) {
  std::map<std::string, std::ptrdiff_t> counts;
  for (const auto& part : parts) {
    ++counts[source_text(part, style)];
  }
  std::string usual;
  for (const auto& part : parts) {
    std::string source = source_text(part, style);
    if (usual.empty() || counts[source] > counts[usual]) {
      usual = std::move(source);
    }
  }
  return usual;
}

std::vector<std::string> part_cells(const latency::OperatorTime& part,
                                    double step_us,
                                    const report::TextStyle& style) {
  const double us = core::as_microseconds(part.time);
  const bool has_intensity = part.bytes.value() > 0.0 && part.flops.value() > 0.0;
  return {report::printable(part.name, style.ascii),
          report::printable(part.phase, style.ascii),
          report::printable(part.shape, style.ascii),
          report::grouped(part.calls),
          report::significant(us),
          step_us > 0.0 ? report::percent(us / step_us) : no_share_mark(style),
          has_intensity ? report::significant(part.flops.value() / part.bytes.value())
                        : no_share_mark(style),
          bottleneck_name(part.bottleneck),
          source_text(part, style)};
}

/// The sources other than the usual one, each with its operators.
std::string other_sources(const std::vector<latency::OperatorTime>& parts,
                          const std::string& usual,
                          const report::TextStyle& style) {
  std::map<std::string, std::vector<std::string>> others;
  for (const auto& part : parts) {
    const std::string source = source_text(part, style);
    const std::string name = report::printable(part.name, style.ascii);
    if (source != usual && std::ranges::find(others[source], name) == others[source].end()) {
      others[source].push_back(name);
    }
  }
  report::LineLayout layout = report::sentence_layout(style);
  layout.separator = " ";
  std::string text;
  for (const auto& [source, names] : others) {
    if (!names.empty()) {
      const std::string line = fmt::format("source of {}: {}", fmt::join(names, ", "), source);
      text += report::wrapped("", report::words(line), layout);
    }
  }
  return text;
}

std::string parts_table(const std::vector<latency::OperatorTime>& parts,
                        double step_us,
                        const report::TextStyle& style) {
  constexpr std::size_t kShape = 2;
  constexpr std::size_t kIntensity = 6;
  constexpr std::size_t kSource = 8;
  using Columns = std::vector<std::size_t>;
  // Most rows have one source: it stands below them, and in the column what differs. A narrow
  // terminal has no room for that column, nor for the intensities if it is narrower still.
  const std::string usual = usual_source(parts, style);
  const bool all = std::ranges::all_of(
      parts, [&](const latency::OperatorTime& part) { return source_text(part, style) == usual; });
  std::string text;
  bool with_sources = !all;
  for (const Columns& left_out : {Columns(), Columns{kSource}, Columns{kSource, kIntensity}}) {
    if (left_out.empty() && all) {
      continue;
    }
    const auto shown = [&left_out](auto cells) {
      for (const std::size_t column : left_out) {
        cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(column));
      }
      return cells;
    };
    report::Grid grid(shown(std::vector<report::Grid::Column>{{"operator", true},
                                              {"phase", true},
                                              {"shape", true},
                                              {"calls"},
                                              {"us"},
                                              {"share"},
                                              {"FLOP/B"},
                                              {"bottleneck", true},
                                              {"source", true}}));
    for (const auto& part : parts) {
      std::vector<std::string> cells = part_cells(part, step_us, style);
      if (cells.back() == usual) {
        cells.back().clear();
      }
      grid.add(shown(std::move(cells)));
    }
    with_sources = left_out.empty();
    const Columns shrinkable = with_sources ? Columns{kSource, kShape} : Columns{kShape};
    text = grid.render(style, shrinkable);
    if (grid.least_width(shrinkable) <= static_cast<std::size_t>(std::max(style.width, 0))) {
      break;
    }
  }
  if (!usual.empty()) {
    const std::string line =
        fmt::format("source{}: {}", with_sources ? " where none is named" : "", usual);
    text +=
        report::shortened(line, static_cast<std::size_t>(std::max(style.width, 0)), style.ascii) +
        "\n";
  }
  return text + (with_sources ? std::string() : other_sources(parts, usual, style));
}

std::string headline_text(const StepReport& report, const report::TextStyle& style) {
  std::vector<report::Piece> pieces;
  pieces.reserve(report.headline.size());
  for (const auto& part : report.headline) {
    pieces.push_back({.text = report::printable(part, style.ascii)});
  }
  return pieces.empty() ? "" : report::wrapped("", pieces, report::sentence_layout(style));
}

/// Time of one operator in one phase under one model; nothing where the model does not name it.
std::optional<double> time_of(const StepReport& report,
                              const std::string& name,
                              const std::string& phase) {
  std::optional<double> sum;
  for (const auto& part : report.explanation.parts) {
    if (part.name == name && part.phase == phase) {
      sum = sum.value_or(0.0) + core::as_microseconds(part.time);
    }
  }
  return sum;
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

std::string step_table(const StepReport& report, const report::TextStyle& style) {
  const auto& explanation = report.explanation;
  const double step_us = explanation.total.gpu().to_microseconds();
  const domain::StepTime labelled = time_by_label(explanation);
  const domain::Bottleneck kind = bottleneck_of(labelled);
  const double share = step_us > 0.0 ? labelled.of(kind).to_microseconds() / step_us : 0.0;
  std::string text = headline_text(report, style);
  text += report::wrapped(
      "",
      {{.text = fmt::format("step {} us", report::significant(step_us))},
       {.text = fmt::format("{} {}", bottleneck_name(kind), report::percent(share))},
       {.text = fmt::format("host {} us",
                            report::significant(explanation.total.cpu.to_microseconds()))},
       {.text = "model " + report::printable(report.model, style.ascii)}},
      report::sentence_layout(style));
  text += "\n" + parts_table(explanation.parts, step_us, style);
  if (explanation.rounding != core::Seconds()) {
    text += fmt::format("rounding {} us\n",
                        report::significant(core::as_microseconds(explanation.rounding)));
  }
  if (report.charged && report.charged->flops != report.charged->own_flops) {
    text += report::wrapped(
        "",
        {{.text = fmt::format("attention of decodes is charged {} FLOPs for {} of its own",
                              report::significant(report.charged->flops),
                              report::significant(report.charged->own_flops))},
         {.text = fmt::format("{} times for the shortest",
                              report::significant(report.charged->shortest_ratio))}},
        report::sentence_layout(style));
  }
  if (!explanation.hidden.empty()) {
    text += "\nhidden: the losing side of each maximum, not in the sum\n";
    text += parts_table(explanation.hidden, step_us, style);
  }
  return text + report::warning_lines(report.warnings, style);
}

document::Node comparison_tree(std::span<const StepReport> reports) {
  return MapBuilder()
      .add("schema_version", kSchemaVersion)
      .add("models", list_of(reports, step_tree));
}

std::string comparison_table(std::span<const StepReport> reports, const report::TextStyle& style) {
  if (reports.empty()) {
    return {};
  }
  std::vector<report::Grid::Column> columns = {{"us", true}, {"phase", true}};
  std::vector<std::pair<std::string, std::string>> operators;
  for (const auto& report : reports) {
    columns.push_back({report.model});
    for (const auto& part : report.explanation.parts) {
      const std::pair<std::string, std::string> key(part.name, part.phase);
      if (std::find(operators.begin(), operators.end(), key) == operators.end()) {
        operators.push_back(key);
      }
    }
  }
  report::Grid grid(std::move(columns));
  for (const auto& [name, phase] : operators) {
    std::vector<std::string> cells = {report::printable(name, style.ascii),
                                      report::printable(phase, style.ascii)};
    for (const auto& report : reports) {
      const auto us = time_of(report, name, phase);
      cells.push_back(us ? report::significant(*us) : no_share_mark(style));
    }
    grid.add(std::move(cells));
  }
  const double first = reports.front().explanation.total.gpu().to_microseconds();
  std::vector<std::string> totals = {"step", ""};
  std::vector<std::string> ratios = {"ratio", ""};
  std::vector<std::string> kinds = {"bottleneck", ""};
  for (const auto& report : reports) {
    const double us = report.explanation.total.gpu().to_microseconds();
    totals.push_back(report::significant(us));
    ratios.push_back(first > 0.0 ? report::significant(us / first) : no_share_mark(style));
    kinds.emplace_back(bottleneck_name(bottleneck_of(time_by_label(report.explanation))));
  }
  grid.add(std::move(totals));
  grid.add(std::move(ratios));
  grid.add(std::move(kinds));
  std::string text = headline_text(reports.front(), style) + "\n";
  text += grid.render(style);
  for (const auto& report : reports) {
    text += report::warning_lines(report.warnings, style);
  }
  return text;
}

}  // namespace ridgeline::verbs

#include "verbs/validate_groups.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "evidence/validate/comparison.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "latency/step_time_model.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "scenario/scenario.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using evidence::validate::Figure;
using evidence::validate::kFigureNames;

/// Models are compared under one command line, of which each takes what it reads.
std::vector<scenario::Override> overrides_of(const std::string& model,
                                             std::vector<scenario::Override> overrides) {
  const latency::StepTimeModelEntry* entry = latency::find_step_time_model(model);
  std::erase_if(overrides, [&](const scenario::Override& change) {
    const auto is = [&](std::string_view path) { return change.path == path; };
    return (is("latency.constants") && !entry->uses.constants) ||
           (is("latency.bench_data") && !entry->uses.bench_data) ||
           (is("latency.hardware_config") && !entry->uses.hardware_config) ||
           (is("latency.lookup") && !entry->uses.lookup) ||
           (is("latency.set") && !entry->uses.settings);
  });
  overrides.push_back({.path = "latency.name", .text = model});
  return overrides;
}

/// "+1.2 (0.3 to 2.2)".
std::string gain_cell(const Node& row, std::size_t model) {
  const Node& cell = node_at(row, "models").items()[model];
  const Node& low = node_at(cell, "low_95");
  std::string text = fmt::format("{:+.1f}", node_at(cell, "gain_points").as_real());
  if (low.is_number()) {
    text += fmt::format(" ({:+.1f} to {:+.1f})", low.as_real(), node_at(cell, "high_95").as_real());
  }
  return text;
}

report::TableView comparison_view(const std::vector<std::string>& models) {
  constexpr auto kTerminal = report::Column::On::kTerminal;
  constexpr auto kPages = report::Column::On::kPages;
  const auto place = [](const Node& row) {
    return fmt::format("{} {}", report::text_at(row, "axis"), report::text_at(row, "value"));
  };
  report::TableView view{
      .title = "Models on the same measured runs",
      .about = fmt::format(
          "Mean absolute error in percent, and of how many runs each is the nearest. Gains are "
          "points by which a model is nearer than {}, with their 95 % intervals.",
          models.front()),
      .columns = {{.title = "mean absolute error, %", .cell = place, .on = kTerminal, .most = 46},
                  {.title = "axis", .path = "axis", .on = kPages},
                  {.title = "value", .path = "value", .on = kPages},
                  {.title = "metric", .path = "metric"},
                  {.title = "n", .path = "records", .format = report::Format::kFixed0}}};
  for (std::size_t m = 0; m < models.size(); ++m) {
    const auto error = [m](const Node& row) {
      const Node& cell = node_at(row, "models").items()[m];
      return fmt::format("{:.2f}", node_at(cell, "mean_abs_pct").as_real());
    };
    view.columns.push_back({.title = models[m], .cell = error, .right = true});
  }
  for (std::size_t m = 1; m < models.size(); ++m) {
    view.columns.push_back({.title = fmt::format("gain of {}", models[m]),
                            .cell = [m](const Node& row) { return gain_cell(row, m); }});
  }
  const auto nearest = [](const Node& row) {
    std::string text;
    for (const Node& cell : node_at(row, "models").items()) {
      text += fmt::format("{}{}", text.empty() ? "" : " / ", node_at(cell, "nearest").as_integer());
    }
    return text;
  };
  view.columns.push_back({.title = "nearest on", .cell = nearest});
  view.columns.push_back({.title = "clear winner", .path = "clear_winner"});
  return view;
}

/// The comparison for people. `metric`: of that figure alone; on a terminal of times alone else.
std::string comparison_text(const Node& tree,
                            const std::vector<std::string>& models,
                            report::Face face,
                            const report::TextStyle& style) {
  const report::TableView view = comparison_view(models);
  std::string table = report::render(view, report::rows_at(tree, "comparison"), face, style);
  if (face == report::Face::kHtml) {
    return report::page_opening(view.title) + fmt::format("<p>{}</p>\n", view.about) + table +
           report::page_closing("");
  }
  if (face == report::Face::kMarkdown) {
    return fmt::format("# {}\n\n{}\n\n{}", view.title, view.about, table);
  }
  if (face == report::Face::kCsv) {
    return table;
  }
  std::size_t apart = 0;
  for (const Node* record : report::rows_at(tree, "records")) {
    apart += report::text_at(*record, "standing") == "scored" ? std::size_t{0} : std::size_t{1};
  }
  std::string text =
      table + fmt::format(
                  "\ngain: points of error by which a model is nearer than {}, with the 95 % "
                  "interval of a bootstrap over servers, of one server over its runs\n",
                  models.front());
  if (apart > 0) {
    text += fmt::format("{} of {} records are not scored: reasons in JSON\n",
                        apart,
                        report::rows_at(tree, "records").size());
  }
  return text;
}

}  // namespace

std::vector<Parameter> group_parameters() {
  using Kind = Parameter::Kind;
  return {{.key = "compare",
           .kind = Kind::kWords,
           .value = "A,B",
           .help = "Step-time models on the same runs: errors of each, gains over the first with "
                   "their intervals, which is nearest where: --compare v1,v2-final,kernel"},
          {.key = "by",
           .kind = Kind::kWords,
           .value = "AXES",
           .help = "Errors by phase, batch, context, workload, model, tp, strategy, ... or by "
                   "several, crossed: --by batch,phase; E2E that a record lacks is made of its "
                   "TTFT and TPOT"},
          {.key = "figure", .value = "NAME", .help = "Of one figure alone: e2e, ttft, tpot, ..."},
          {.key = "max_prompts", .value = "N", .help = "Of every load at most so many requests"},
          {.key = "vllm_version",
           .value = "VERSION",
           .help = "As --engine-version vllm@VERSION, the original evaluator's word"}};
}

AskedGroups take_groups(Request& request) {
  constexpr std::int64_t kMost = 1'000'000'000;
  AskedGroups asked;
  asked.models = request.take_texts("compare");
  asked.by = request.take_texts("by");
  asked.max_prompts = request.take_count("max_prompts", 0, kMost);
  asked.vllm_version = request.take_text("vllm_version");
  if (!asked.models.empty() && request.states("latency.name")) {
    request.add(request.problem("latency", "would be ignored: --compare names the models"));
  }
  for (const std::string& model : asked.models) {
    if (latency::find_step_time_model(model) == nullptr) {
      request.add(request.problem("compare",
                                  fmt::format("found \"{}\", expected step-time models", model),
                                  "`ridgeline list latency` names them"));
    }
  }
  if (asked.models.size() == 1) {
    request.add(request.problem("compare", "found one model, expected two or more"));
  }
  const auto axes = evidence::validate::score_axes();
  for (const std::string& axis : asked.by) {
    if (std::ranges::find(axes, std::string_view(axis)) == axes.end()) {
      request.add(request.problem(
          "by", fmt::format("found \"{}\", expected one of {}", axis, fmt::join(axes, ", "))));
    }
  }
  if (const std::string metric = request.take_text("figure"); !metric.empty()) {
    const auto* const known = std::ranges::find(kFigureNames, std::string_view(metric));
    if (known == kFigureNames.end()) {
      request.add(request.problem(
          "figure",
          fmt::format("found \"{}\", expected one of {}", metric, fmt::join(kFigureNames, ", "))));
    } else {
      asked.metric = static_cast<Figure>(known - kFigureNames.begin());
    }
  }
  return asked;
}

void apply_groups(AskedGroups& asked, MeasuredJob& job) {
  if (!asked.by.empty() || !asked.models.empty()) {
    asked.derived_e2e = evidence::validate::derive_e2e(job.evidence);
  }
  if (asked.max_prompts > 0) {
    evidence::validate::limit_requests(asked.max_prompts, job.evidence);
  }
  if (!asked.vllm_version.empty()) {
    // Tags of vLLM's images and releases begin with a v.
    const std::size_t number = asked.vllm_version.starts_with('v') ? 1 : 0;
    job.options.overrides.push_back(
        {.path = "engine.version",
         .text = fmt::format("vllm@{}", asked.vllm_version.substr(number))});
  }
}

void add_asked(const AskedGroups& asked, evidence::validate::Validation& validation) {
  validation.metric = asked.metric;
  validation.derived_e2e = asked.derived_e2e;
  if (asked.by.empty()) {
    return;
  }
  validation.by = fmt::format("{}", fmt::join(asked.by, ", "));
  if (asked.by.size() > 1) {  // One axis alone has its rows already.
    for (auto& row : evidence::validate::score_by(validation.records, asked.by)) {
      validation.scores.push_back(std::move(row));
    }
  }
}

core::Result<Reply> compared_validations(const AskedGroups& asked,
                                         const MeasuredJob& measured,
                                         Host& host) {
  std::vector<evidence::validate::ModelScores> scores;
  for (const std::string& model : asked.models) {
    evidence::validate::PredictOptions options = measured.options;
    options.overrides = overrides_of(model, measured.options.overrides);
    scores.push_back(
        {.model = model, .validation = evidence::validate::validate(measured.evidence, options)});
    if (host.stop()) {
      return Reply{.code = host.stopped()};
    }
  }
  std::vector<std::vector<std::string>> axes;
  if (asked.by.empty()) {
    for (const char* axis : {"phase", "batch", "context", "workload", "model", "tp", "strategy"}) {
      axes.push_back({axis});
    }
  } else {
    axes.push_back(asked.by);
  }
  auto rows = evidence::validate::compare_models(scores, axes);
  std::erase_if(rows, [&](const evidence::validate::ComparedRow& row) {
    return asked.metric && row.figure != *asked.metric;
  });
  if (rows.empty()) {
    const auto& first = scores.front().validation.records.front();
    return core::fail(core::Error{
        .code = core::ErrorCode::kInfeasible,
        .message = fmt::format("no record is scored by every model: {}",
                               first.reason.empty() ? "none has the figure" : first.reason)});
  }
  const auto tree = shared(evidence::validate::comparison_tree(scores, rows));
  Reply reply{.tree = [tree] { return *tree; }};
  for (const char* format : {"table", "csv", "markdown", "html"}) {
    reply.views[format] = [tree, models = asked.models, face = report::face_of(format)](
                              const report::TextStyle& style) {
      return comparison_text(*tree, models, face, style);
    };
  }
  return reply;
}

}  // namespace ridgeline::verbs

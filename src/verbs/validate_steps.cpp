#include "verbs/validate_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "domain/step.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/step_truth.hpp"
#include "latency/step_time_model.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/priced_step.hpp"
#include "verbs/registry.hpp"
#include "verbs/validate_groups.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;
using evidence::validate::MeasuredStep;
using evidence::validate::StepTruth;

constexpr std::int64_t kUsualContext = 1024;
constexpr std::int64_t kLongestContext = 16'777'216;
constexpr std::size_t kMostWorstSteps = 20;
constexpr int kStepScoresSchemaVersion = 1;

/// A step as one model prices it.
struct StepError {
  std::string file;
  const MeasuredStep* step = nullptr;
  double predicted_us = 0.0;

  [[nodiscard]] double percent() const { return 100.0 * (predicted_us - step->us) / step->us; }
};

struct ScoredLog {
  std::string path;
  StepTruth truth;
};

/// What a step takes: on the GPU, and with the host's work where the log's times hold it, which an
/// asynchronous engine does beside the step.
double step_us(const scenario::Deployment& deployment, const MeasuredStep& step, bool with_host) {
  std::vector<core::Tokens> lengths;
  const domain::StepTime time = deployment.latency->predict(step.batch(lengths));
  const double gpu = time.gpu().to_seconds();
  const double cpu = with_host ? time.cpu.to_seconds() : 0.0;
  constexpr double kPerSecond = 1e6;
  return kPerSecond * (deployment.engine.async_scheduling ? std::max(gpu, cpu) : gpu + cpu);
}

std::string step_value(const std::string& axis, const MeasuredStep& step) {
  return axis == "phase"     ? step.phase()
         : axis == "batch"   ? evidence::validate::power_bucket(core::real(step.sequences()))
         : axis == "context" ? evidence::validate::power_bucket(std::max(1.0, step.mean_context()))
                             : "all";
}

/// Rows of one model: all steps, then by each axis, which may be several crossed.
void add_step_scores(const std::string& model,
                     const std::vector<StepError>& errors,
                     const std::vector<std::vector<std::string>>& axes,
                     std::vector<Node>& rows) {
  for (const auto& crossed : axes) {
    std::vector<std::pair<std::string, std::vector<double>>> groups;
    for (const StepError& error : errors) {
      std::vector<std::string> values;
      for (const std::string& axis : crossed) {
        values.push_back(step_value(axis, *error.step));
      }
      const std::string value = fmt::format("{}", fmt::join(values, ", "));
      auto known = std::ranges::find(groups, value, [](const auto& group) { return group.first; });
      if (known == groups.end()) {
        known = groups.emplace(known, value, std::vector<double>());
      }
      known->second.push_back(error.percent());
    }
    for (auto& [value, percents] : groups) {
      const auto row = evidence::validate::summarise_errors(std::move(percents));
      rows.push_back(MapBuilder()
                         .add("model", model)
                         .add("axis", fmt::format("{}", fmt::join(crossed, ", ")))
                         .add("value", value)
                         .add("n", row.n)
                         .add("median_abs_pct", row.median_abs)
                         .add("mean_abs_pct", row.mean_abs)
                         .add("p95_abs_pct", row.p95_abs)
                         .add("p99_abs_pct", row.p99_abs)
                         .add("mean_signed_pct", row.mean_signed)
                         .add("share_over_20pct", row.share_over_20));
    }
  }
}

void add_step_outliers(const std::string& model,
                       std::vector<StepError> errors,
                       std::vector<Node>& rows) {
  std::ranges::stable_sort(
      errors, std::greater(), [](const StepError& error) { return std::abs(error.percent()); });
  for (std::size_t i = 0; i < std::min(errors.size(), kMostWorstSteps); ++i) {
    const MeasuredStep& step = *errors[i].step;
    std::int64_t past = 0;
    std::int64_t fresh = 0;
    for (const auto& chunk : step.prefills) {
      past += chunk.past.value();
      fresh += chunk.new_tokens.value();
    }
    rows.push_back(MapBuilder()
                       .add("model", model)
                       .add("file", errors[i].file)
                       .add("line", step.line)
                       .add("phase", step.phase())
                       .add("num_decodes", step.num_decodes)
                       .add("decode_context", step.decode_context.value())
                       .add("num_prefills", std::ssize(step.prefills))
                       .add("prefill_tokens", fresh)
                       .add("prefill_context", past)
                       .add("measured_us", step.us)
                       .add("predicted_us", errors[i].predicted_us)
                       .add("error_pct", errors[i].percent()));
  }
}

const report::TableView kStepScores{
    .title = "Absolute errors of single steps",
    .about = "In percent.",
    .columns = {
        {.title = "model", .path = "model"},
        {.title = "axis", .path = "axis"},
        {.title = "value", .path = "value"},
        {.title = "n", .path = "n", .format = report::Format::kFixed0},
        {.title = "median", .path = "median_abs_pct", .format = report::Format::kFixed2},
        {.title = "mean", .path = "mean_abs_pct", .format = report::Format::kFixed2},
        {.title = "p95", .path = "p95_abs_pct", .format = report::Format::kFixed2},
        {.title = "signed", .path = "mean_signed_pct", .format = report::Format::kSigned2}}};

const report::TableView kStepOutliers{
    .title = "Steps that are predicted worst",
    .columns = {
        {.title = "line", .path = "line", .format = report::Format::kFixed0},
        {.title = "model", .path = "model"},
        {.title = "phase", .path = "phase"},
        {.title = "decodes", .path = "num_decodes", .format = report::Format::kFixed0},
        {.title = "context", .path = "decode_context", .format = report::Format::kFixed0},
        {.title = "chunks", .path = "num_prefills", .format = report::Format::kFixed0},
        {.title = "new tokens", .path = "prefill_tokens", .format = report::Format::kFixed0},
        {.title = "measured, us", .path = "measured_us", .format = report::Format::kFixed0},
        {.title = "predicted", .path = "predicted_us", .format = report::Format::kFixed0},
        {.title = "error, %", .path = "error_pct", .format = report::Format::kSigned1}}};

std::string step_scores_text(const Node& tree, report::Face face, const report::TextStyle& style) {
  std::string scores = report::render(kStepScores, report::rows_at(tree, "scores"), face, style);
  if (face == report::Face::kCsv) {
    return scores;
  }
  const std::string text =
      scores + report::section(kStepOutliers, report::rows_at(tree, "outliers"), face, style);
  if (face == report::Face::kHtml) {
    return report::page_opening(kStepScores.title) + text + report::page_closing("");
  }
  std::string notes;
  for (const Node* log : report::rows_at(tree, "logs")) {
    notes += fmt::format("\n{}: {} steps, form {}\n",
                         report::text_at(*log, "file"),
                         node_at(*log, "steps").as_integer(),
                         report::text_at(*log, "form"));
    for (const char* key : {"assumed", "left_out"}) {
      for (const Node& line : node_at(*log, key).items()) {
        notes +=
            fmt::format("  {}: {}\n", key[0] == 'a' ? "assumed" : "left out", line.as_string());
      }
    }
  }
  return text + notes;
}

/// The logs among the files; nothing where none is one. Fails where some are and some are not.
std::optional<core::Result<std::vector<ScoredLog>>> logs_of(const Node& files,
                                                            std::int64_t context) {
  if (!files.is_list()) {
    return std::nullopt;
  }
  std::vector<ScoredLog> logs;
  std::string other;
  for (const Node& file : files.items()) {
    std::error_code failed;
    if (!file.is_string() || !std::filesystem::is_regular_file(file.as_string(), failed)) {
      return std::nullopt;
    }
    auto truth = evidence::validate::read_step_truth(file.as_string(), context);
    if (truth && *truth) {
      logs.push_back({.path = file.as_string(), .truth = std::move(**truth)});
    } else {
      other = file.as_string();
    }
  }
  if (logs.empty()) {
    return std::nullopt;
  }
  if (!other.empty()) {
    return core::fail(core::Error{
        .message = fmt::format("holds no step, '{}' is a step log: expected one kind of file",
                               logs.front().path),
        .where = {.file = other}});
  }
  return logs;
}

core::Result<Reply> score_logs(const std::vector<ScoredLog>& logs,
                               const AskedGroups& asked,
                               const scenario::LoadedScenario& loaded) {
  std::vector<std::vector<std::string>> axes = {{"all"}, {"phase"}, {"batch"}, {"context"}};
  if (!asked.by.empty()) {
    axes = {{"all"}, asked.by};
  }
  std::vector<Node> scores;
  std::vector<Node> outliers;
  for (const std::string& model :
       asked.models.empty() ? std::vector<std::string>{""} : asked.models) {
    const auto resolved = scenario::resolve(model.empty() ? loaded : with_model(loaded, model));
    if (!resolved) {
      return core::fail(resolved.error());
    }
    std::vector<StepError> errors;
    for (const ScoredLog& log : logs) {
      for (const MeasuredStep& step : log.truth.steps) {
        errors.push_back(
            {.file = log.path,
             .step = &step,
             .predicted_us = step_us(*resolved->deployment, step, log.truth.with_host)});
      }
    }
    const std::string& name = resolved->deployment->section.latency.name;
    add_step_scores(name, errors, axes, scores);
    add_step_outliers(name, std::move(errors), outliers);
  }
  std::vector<Node> read;
  for (const ScoredLog& log : logs) {
    read.push_back(MapBuilder()
                       .add("file", log.path)
                       .add("form", log.truth.form)
                       .add("steps", std::ssize(log.truth.steps))
                       .add("assumed", log.truth.assumed)
                       .add("left_out", log.truth.left_out));
  }
  const Node tree = MapBuilder()
                        .add("schema_version", kStepScoresSchemaVersion)
                        .add("logs", document::list_node(std::move(read)))
                        .add("scores", document::list_node(std::move(scores)))
                        .add("outliers", document::list_node(std::move(outliers)));
  const auto kept = shared(Node(tree));
  Reply reply{.tree = [kept] { return *kept; }};
  for (const char* format : {"table", "csv", "markdown", "html"}) {
    reply.views[format] = [kept, face = report::face_of(format)](const report::TextStyle& style) {
      return step_scores_text(*kept, face, style);
    };
  }
  return reply;
}

}  // namespace

std::optional<core::Result<Reply>> scored_steps(Request& request) {
  const std::int64_t context =
      request.take_integer("step_context", kUsualContext, 0, kLongestContext);
  const Node given = request.document();
  const auto logs = logs_of(node_at(given, "files"), context);
  if (!logs) {
    return std::nullopt;
  }
  if (!*logs) {
    return core::fail(logs->error());
  }
  static_cast<void>(request.take_texts("files"));
  const AskedGroups asked = take_groups(request);
  for (const std::string& axis : asked.by) {
    if (axis != "phase" && axis != "batch" && axis != "context") {
      request.add(request.problem(
          "by",
          fmt::format("found \"{}\", expected phase, batch or context: steps have these", axis)));
    }
  }
  for (const char* unused : {"fail_over", "histories", "coverage"}) {
    if (request.has(unused)) {
      request.add(request.problem(unused, "means nothing for single steps"));
    }
  }
  const auto loaded = request.load(scenario::Purpose::kLook);
  request.keep(loaded);
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  return score_logs(**logs, asked, *loaded);
}

}  // namespace ridgeline::verbs

#include "domain/step.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/batch_text.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"
#include "report/results/headline.hpp"
#include "report/roofline_svg.hpp"
#include "report/step_report.hpp"
#include "scenario/batch_limits.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

std::vector<FlagSpec> step_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags = {
      {.name = "decode",
       .value = "CTX[xCOUNT],...",
       .help = "Sequences that process one token, by their KV length"},
      {.name = "prefill",
       .value = "PAST+NEW[xCOUNT],...",
       .help = "Prompt chunks: tokens before, tokens now"},
      {.name = "no-sample",
       .takes = Takes::kNothing,
       .help = "The chunks are not the last of their prompts"},
      {.name = "compare",
       .value = "A,B,...",
       .help = "Step-time models side by side, instead of --latency"},
      {.name = "svg", .value = "FILE", .help = "Draws the operators under the GPU's roofline"},
  };
  for (auto& flag : scenario_flags(ScenarioPart::kDeployment)) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
  }
}

std::string batch_title(const BatchText& text) {
  const auto decodes = static_cast<std::int64_t>(text.decodes.size());
  const auto prefills = static_cast<std::int64_t>(text.prefills.size());
  const std::string left = decodes == 0 ? "" : report::counted(decodes, "decode");
  const std::string right = prefills == 0 ? "" : report::counted(prefills, "prompt chunk");
  return left + (left.empty() || right.empty() ? "" : ", ") + right;
}

/// A step priced by one model, with the deployment it was priced on.
struct Priced {
  std::shared_ptr<const scenario::Deployment> deployment;
  report::StepReport report;
};

/// Models are compared under one command line, of which each takes what it reads.
void drop_unused(scenario::LatencySection& section) {
  const auto* entry = latency::find_step_time_model(section.name);
  if (entry == nullptr) {
    return;
  }
  if (!entry->uses.constants) {
    section.constants.reset();
  }
  if (!entry->uses.bench_data) {
    section.bench_data.reset();
  }
  if (!entry->uses.hardware_config) {
    section.hardware_config.reset();
  }
  if (!entry->uses.lookup) {
    section.lookup.reset();
  }
  if (!entry->uses.settings) {
    section.settings.clear();
  }
}

/// What resolve() warns of is the workload of a run: a step has none, its batch is one rank's.
core::Warnings warnings_of(const scenario::Resolved& resolved) {
  core::Warnings warnings = resolved.warnings;
  for (core::Warning& warning : warnings) {
    if (warning.code == scenario::kDataParallelWarning) {
      warning.message = fmt::format(
          "--decode and --prefill are the batch of one of {} data-parallel ranks, not of all",
          resolved.deployment->execution.sharding.data_parallel_size);
      warning.hint = "ranks that exchange tokens of experts are taken to be equally loaded";
    }
  }
  return warnings;
}

/// A step that simulated time has no room for: its sum of parts is not exact any more.
core::Error too_long(const latency::Explanation& explanation) {
  core::Seconds sum;
  for (const latency::OperatorTime& part : explanation.parts) {
    sum += part.time;
  }
  return {.code = core::ErrorCode::kInfeasible,
          .field = "step",
          .message = fmt::format("takes {:.3g} s, expected at most {} s, the range of simulated "
                                 "time",
                                 sum.value(),
                                 core::shortest(core::SimTime::last().to_seconds())),
          .where = {},
          .hint = "is a unit of the hardware wrong?"};
}

core::Result<Priced> price(const scenario::LoadedScenario& loaded,
                           const std::string& model,
                           const BatchText& text) {
  scenario::LoadedScenario chosen = loaded;
  if (!model.empty()) {
    chosen.scenario.deployment.latency.name = model;
    drop_unused(chosen.scenario.deployment.latency);
  }
  const auto resolved = scenario::resolve(std::move(chosen));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  Priced priced{.deployment = resolved->deployment, .report = {}};
  const scenario::Deployment& deployment = *priced.deployment;
  priced.report.model = deployment.section.latency.name;
  priced.report.headline = {report::deployment_text(deployment), batch_title(text)};
  priced.report.config = scenario::to_node(resolved->scenario());
  const auto& speculation = deployment.execution.speculation;
  const BatchText verified =
      with_drafts(text, speculation ? speculation->num_speculative_tokens : 0);
  const domain::StepBatch batch = verified.batch();
  priced.report.explanation = deployment.latency->explain(batch);
  if (priced.report.explanation.total.gpu() > core::SimTime::last().since_start()) {
    return core::fail(too_long(priced.report.explanation));
  }
  priced.report.warnings = warnings_of(*resolved);
  latency::LookupLog log;
  static_cast<void>(deployment.latency->predict_logged(batch, log));
  for (const core::Warnings& more :
       {scenario::beyond_limits(deployment, batch), deployment.latency->findings(log)}) {
    priced.report.warnings.insert(priced.report.warnings.end(), more.begin(), more.end());
  }
  return priced;
}

core::Result<void> draw(const std::string& path, const Priced& priced) {
  auto file = OutputFile::open("--svg", path);
  if (!file) {
    return core::fail(file.error());
  }
  const auto& gpu = priced.deployment->gpu;
  file->stream() << report::roofline_svg(
      {.title = fmt::format("{}", fmt::join(priced.report.headline, ": ")),
       .subtitle = fmt::format("{} model", priced.report.model),
       .peaks = latency::kernel::formats_in_use(priced.deployment->network, gpu),
       .bandwidth = gpu.mem_bandwidth},
      priced.report.explanation);
  return file->commit();
}

std::string show(const std::vector<Priced>& steps,
                 bool compared,
                 std::string_view format,
                 const report::TextStyle& style) {
  if (!compared) {
    const report::StepReport& step = steps.front().report;
    return format == "json" ? report::json_text(report::step_tree(step))
                            : report::step_table(step, style);
  }
  std::vector<report::StepReport> reports;
  reports.reserve(steps.size());
  for (const auto& step : steps) {
    reports.push_back(step.report);
  }
  return format == "json" ? report::json_text(report::comparison_tree(reports))
                          : report::comparison_table(reports, style);
}

core::Result<std::vector<Priced>> price_all(const Arguments& arguments) {
  core::Errors errors;
  auto text = parse_batch(
      arguments.value("decode"), arguments.value("prefill"), !arguments.has("no-sample"));
  auto loaded = load(arguments, scenario::Purpose::kLook);
  if (!text) {
    errors = text.error();
  }
  if (!loaded) {
    errors.insert(errors.end(), loaded.error().begin(), loaded.error().end());
  }
  const GivenFlag* compare = arguments.find("compare");
  if (compare != nullptr && arguments.has("latency")) {
    errors.push_back({.field = "--latency",
                      .message = "would be ignored: --compare names the models",
                      .where = {.file = "command line"}});
  }
  std::vector<Priced> steps;
  if (errors.empty()) {
    for (const auto& name :
         compare == nullptr ? std::vector<std::string>{""} : split(compare->value)) {
      auto priced = price(*loaded, name, *text);
      if (!priced) {
        errors.insert(errors.end(), priced.error().begin(), priced.error().end());
        continue;
      }
      steps.push_back(std::move(*priced));
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return steps;
}

}  // namespace

ExitCode step_command(Words words) {
  const Opening opening{.usage = "step [scenario.yaml] [flags]",
                        .about = "Prices one engine step and shows every operator's share of it.",
                        .flags = step_flags(),
                        .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  const auto steps = price_all(arguments);
  if (!steps) {
    return give_up(steps.error(), manners);
  }
  if (const GivenFlag* svg = arguments.find("svg")) {
    if (const auto drawn = draw(svg->value, steps->front()); !drawn) {
      return give_up(drawn.error(), manners);
    }
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return show(*steps, arguments.has("compare"), format, style);
      },
      manners);
}

}  // namespace ridgeline::cli

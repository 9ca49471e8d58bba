#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/plan_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "deploy/deployment.hpp"
#include "deploy/registry.hpp"
#include "deploy/save.hpp"
#include "plan/answer.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/planner.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/plan_measurements.hpp"
#include "report/plan_report.hpp"
#include "report/plan_svg.hpp"
#include "report/tree.hpp"
#include "report/version.hpp"

namespace ridgeline::cli {
namespace {

/// What the words ask for.
struct PlanJob {
  plan::Question question;
  std::int64_t jobs = 1;
  ProgressDisplay::Mode progress = ProgressDisplay::Mode::kNever;
  std::vector<const deploy::Target*> targets;
};

ExitCode code_of(const plan::Answer& answer) {
  if (answer.partial) {
    return InterruptGuard::exit_code();
  }
  if (answer.pick) {
    return ExitCode::kOk;
  }
  return answer.is_infeasible ? ExitCode::kInfeasible : ExitCode::kThreshold;
}

core::Result<PlanJob> read_plan_job(const Arguments& arguments, const Manners& manners) {
  auto question = read_plan(arguments);
  const auto jobs = read_jobs(arguments);
  const auto mode = progress_mode(arguments, manners.err);
  core::Errors errors;
  keep_errors(question, errors);
  keep_errors(jobs, errors);
  keep_errors(mode, errors);
  PlanJob job;
  for (const std::string& name : arguments.values("deployment-target")) {
    const auto target = deploy::find_target(name);
    keep_errors(target, errors);
    if (target) {
      job.targets.push_back(*target);
    }
  }
  if (!job.targets.empty() && !arguments.has("save-dir")) {
    errors.push_back({.field = "--save-dir",
                      .message = "missing, expected the folder for the files",
                      .where = {.file = "command line"},
                      .hint = "--save-dir out"});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  if (job.targets.empty()) {
    job.targets.push_back(deploy::targets().front());
  }
  job.question = std::move(*question);
  job.jobs = *jobs;
  job.progress = *mode;
  return job;
}

/// What is predicted of a deployment, for people and for programs.
void predict(const plan::Answer& answer,
             const plan::PlanCandidate& candidate,
             deploy::Input& input) {
  report::MapBuilder tree;
  std::vector<std::string> lines = {fmt::format("Predicted at {}:", answer.workload)};
  for (const plan::TargetResult& result : candidate.targets) {
    const std::string target = answer.question.slo.targets[result.target].text();
    if (result.value_ms) {
      lines.push_back(fmt::format("  {}: {} ms (80 % of windows: {} to {})",
                                  target,
                                  report::significant(result.value_ms->value),
                                  report::significant(result.value_ms->lo),
                                  report::significant(result.value_ms->hi)));
      tree.add(target, report::number_node(result.value_ms->value));
    }
  }
  lines.push_back(fmt::format("  sure to suffice with {:.0f} %", candidate.p_feasible * 100.0));
  tree.add("p_feasible", report::number_node(candidate.p_feasible));
  input.predicted = std::move(lines);
  input.prediction = tree.build();
  input.plan_digest = answer.digest;
  if (candidate.capacity) {
    input.capacity_rps = candidate.capacity->value * static_cast<double>(candidate.replicas);
  }
}

/// The files of the best deployments: FOLDER/top1 and so on.
core::Result<std::vector<std::string>> save_deployments(const plan::Answer& answer,
                                                        const PlanJob& job,
                                                        const std::string& folder) {
  std::vector<std::string> saved;
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    const plan::PlanCandidate& candidate = answer.candidates[answer.ranking[i]];
    if (!candidate.resolved) {
      continue;
    }
    deploy::Input input{.resolved = *candidate.resolved,
                        .ridgeline = std::string(report::version())};
    predict(answer, candidate, input);
    const auto files = deploy::deployment_files(input, job.targets);
    if (!files) {
      return core::fail(files.error());
    }
    const std::string own =
        fmt::format("{}{}top{}", folder, folder.ends_with('/') ? "" : "/", i + 1);
    if (auto done = deploy::save_files("--save-dir", own, *files); !done) {
      return core::fail(std::move(done).error());
    }
    for (const deploy::File& file : *files) {
      saved.push_back(fmt::format("{}/{}", own, file.name));
    }
  }
  return saved;
}

ExitCode explain(const plan::Answer& answer, const std::string& id, const Manners& manners) {
  const auto text = report::plan_explanation(answer, id, text_style(manners.out));
  if (!text) {
    return give_up({{.field = "--explain",
                     .message = fmt::format("no deployment of this plan is \"{}\"", id),
                     .where = {.file = "command line"},
                     .hint = "ids stand in --format json; 1 is the best"}},
                   manners);
  }
  return put_out(*text, manners);
}

core::Result<void> draw(const plan::Answer& answer, const std::string& path) {
  auto file = OutputFile::open("--svg", path);
  if (!file) {
    return core::fail(std::move(file).error());
  }
  file->stream() << report::plan_svg(answer);
  return file->commit();
}

ExitCode run_plan(const PlanJob& job,
                  const Arguments& arguments,
                  VerbOutputs& outputs,
                  const Manners& manners) {
  ProgressDisplay display(job.progress, manners.err);
  const InterruptGuard guard;
  plan::PlanOptions options{
      .jobs = job.jobs,
      .progress = [&display](const plan::PlanProgress& progress) { display.update(progress); }};
  std::unique_ptr<plan::EvaluationStore> store;
  if (arguments.has("store")) {
    auto opened = plan::EvaluationStore::open(
        arguments.value("store"), report::version(), [&display] { return display.wall_seconds(); });
    if (!opened) {
      return give_up(opened.error(), manners);
    }
    store = std::move(*opened);
    options.store = store.get();
  }
  const auto answer = plan::plan(job.question, options, InterruptGuard::flag());
  display.finish();
  if (!answer) {
    return give_up(answer.error(), manners);
  }
  if (arguments.has("svg")) {
    if (const auto drawn = draw(*answer, arguments.value("svg")); !drawn) {
      return give_up(drawn.error(), manners);
    }
  }
  if (arguments.has("explain")) {
    return explain(*answer, arguments.value("explain"), manners);
  }
  if (arguments.has("what-to-measure")) {
    return put_out(
        report::plan_measurements(
            *answer, static_cast<std::size_t>(job.question.top_n), arguments.has("kernels-only")),
        manners);
  }
  std::vector<std::string> files;
  if (arguments.has("save-dir") && answer->pick) {
    auto saved = save_deployments(*answer, job, arguments.value("save-dir"));
    if (!saved) {
      return give_up(saved.error(), manners);
    }
    files = std::move(*saved);
  }
  const report::PlanRunInfo info{.wall_time_s = display.wall_seconds(), .jobs = job.jobs};
  const ExitCode shown = outputs.put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return format == "json" ? report::plan_json(*answer, info, files)
                                : report::plan_table(*answer, style, files);
      },
      manners);
  return shown == ExitCode::kOk ? code_of(*answer) : shown;
}

}  // namespace

ExitCode plan_command(Words words) {
  const Opening opening = plan_opening();
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto job = read_plan_job(arguments, manners);
  if (!job) {
    return give_up(job.error(), manners);
  }
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  return run_plan(*job, arguments, *outputs, manners);
}

}  // namespace ridgeline::cli

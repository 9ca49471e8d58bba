#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments.hpp"
#include "cli/commands/plan_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/picture_file.hpp"
#include "cli/progress.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/deployment.hpp"
#include "deploy/layout.hpp"
#include "deploy/registry.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/save.hpp"
#include "hardware/gpu_spec.hpp"
#include "plan/answer.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/mix_plan.hpp"
#include "plan/planner.hpp"
#include "plan/points.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/plan_measurements.hpp"
#include "report/plan_mix.hpp"
#include "report/plan_page.hpp"
#include "report/plan_report.hpp"
#include "report/plan_svg.hpp"
#include "report/result_json.hpp"
#include "report/version.hpp"

namespace ridgeline::cli {
namespace {

/// What the words ask for.
struct PlanJob {
  plan::Question question;
  std::int64_t jobs = 1;
  ProgressDisplay::Mode progress = ProgressDisplay::Mode::kNever;
  std::vector<const deploy::Target*> targets;
  bool states_targets = false;  ///< Otherwise each deployment gets its engine's own.

  /// Those that deploy an engine: all that are stated, whether they do or not.
  [[nodiscard]] std::vector<const deploy::Target*> targets_of(const std::string& engine) const {
    const std::string_view name = std::string_view(engine).substr(0, engine.find('@'));
    const auto all = deploy::targets();
    const auto own = std::ranges::find_if(
        all, [&](const deploy::Target* target) { return target->abilities.engine == name; });
    return states_targets || own == all.end() ? targets : std::vector{*own};
  }
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

/// The routing policies that all of these can bring about, and their names.
Routers routers_of(std::span<const deploy::Target* const> targets) {
  Routers found;
  std::vector<std::string_view> names;
  for (const deploy::Target* target : targets) {
    names.push_back(target->abilities.target);
  }
  found.of = fmt::format("{}", fmt::join(names, ", "));
  for (const std::string_view router :
       targets.empty() ? std::span<const std::string_view>() : targets.front()->abilities.routers) {
    if (std::ranges::all_of(targets, [&](const deploy::Target* target) {
          return std::ranges::find(target->abilities.routers, router) !=
                 target->abilities.routers.end();
        })) {
      found.names.emplace_back(router);
    }
  }
  return found;
}

/// The targets that are named, and what they have in common.
std::vector<const deploy::Target*> read_targets(const Arguments& arguments, core::Errors& errors) {
  std::vector<const deploy::Target*> targets;
  for (const std::string& name : arguments.values("deployment-target")) {
    const auto target = deploy::find_target(name);
    keep_errors(target, errors);
    if (target) {
      targets.push_back(*target);
    }
  }
  const auto lacks = [&](const char* field, std::string message, std::string hint) {
    errors.push_back({.field = field,
                      .message = std::move(message),
                      .where = {.file = "command line"},
                      .hint = std::move(hint)});
  };
  if (arguments.has("deployment-target") && !arguments.has("save-dir")) {
    lacks("--save-dir", "missing, expected the folder for the files", "--save-dir out");
  }
  if (targets.empty() && arguments.has("save-dir")) {
    targets.push_back(deploy::targets().front());
  }
  if (targets.size() > 1 && deploy::common_router(targets).empty()) {
    std::vector<std::string> each;
    for (const deploy::Target* target : targets) {
      each.push_back(fmt::format(
          "{} has {}", target->abilities.target, fmt::join(target->abilities.routers, ", ")));
    }
    lacks(
        "--deployment-target",
        fmt::format("found targets without a routing policy in common, so that no one plan can be "
                    "deployed by all: {}",
                    fmt::join(each, "; ")),
        "plan for each of them");
  }
  return targets;
}

/// Whether any deployment that the question asks about can be written. It is asked before the
/// search, which may take minutes.
core::Errors unwritable(const PlanJob& job) {
  core::Errors errors;
  for (const std::string& engine : job.question.engines) {
    for (const hardware::GpuSpec& gpu : job.question.gpus) {
      for (const deploy::Target* target : job.targets_of(engine)) {
        core::Errors found = deploy::refusals(target->abilities, engine, gpu);
        if (found.empty()) {
          return {};
        }
        for (core::Error& error : found) {
          if (std::ranges::find(errors, error.message, &core::Error::message) == errors.end()) {
            errors.push_back(std::move(error));
          }
        }
      }
    }
  }
  return errors;
}

core::Result<PlanJob> read_plan_job(const Arguments& arguments, const Manners& manners) {
  core::Errors errors;
  PlanJob job;
  job.targets = read_targets(arguments, errors);
  auto question = read_plan(arguments, routers_of(job.targets));
  if (arguments.has("kernels-only") && !arguments.has("what-to-measure")) {
    errors.push_back({.field = "--kernels-only",
                      .message = "would be ignored: it is of --what-to-measure",
                      .where = {.file = "command line"},
                      .hint = "--what-to-measure --kernels-only"});
  }
  if (question && question->most_of && arguments.has("what-to-measure")) {
    errors.push_back({.field = "--what-to-measure",
                      .message = "is not taken of a question with maximize: no cost is at stake",
                      .where = {.file = "command line"},
                      .hint = "the cheapest deployment for a load says what to measure"});
  }
  if (arguments.has("explain") && arguments.has("what-to-measure")) {
    errors.push_back({.field = "--explain",
                      .message = "found beside --what-to-measure, expected one of them: both say "
                                 "something instead of the table",
                      .where = {.file = "command line"}});
  }
  if (arguments.has("svg")) {
    keep_errors(check_picture_name(arguments.value("svg")), errors);
  }
  if (arguments.has("save-dir")) {
    keep_errors(document::can_save("--save-dir", arguments.value("save-dir")), errors);
  }
  const auto jobs = read_jobs(arguments);
  const auto mode = progress_mode(arguments, manners.err);
  keep_errors(question, errors);
  keep_errors(jobs, errors);
  keep_errors(mode, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  job.question = std::move(*question);
  job.jobs = *jobs;
  job.progress = *mode;
  job.states_targets = arguments.has("deployment-target");
  if (job.states_targets) {
    if (core::Errors none = unwritable(job); !none.empty()) {
      return core::fail(std::move(none));
    }
  }
  return job;
}

/// What is predicted of a deployment, for people and for programs.
struct Predicted {
  std::string load;  ///< "5 req/s of ..."
  const std::vector<plan::TargetResult>& results;
  double p_feasible = 0.0;
  std::string bound = {};  ///< Why the figures are bounds, if they are.
};

void predict(const Predicted& predicted, const plan::Targets& targets, deploy::Input& input) {
  document::MapBuilder tree;
  std::vector<std::string> lines = {fmt::format("Predicted at {}:", predicted.load)};
  for (const plan::TargetResult& result : predicted.results) {
    const std::string target = targets[result.target].text();
    if (result.value_ms) {
      lines.push_back(fmt::format("  {}: {} ms (80 % of windows: {} to {})",
                                  target,
                                  report::significant(result.value_ms->value),
                                  report::significant(result.value_ms->lo),
                                  report::significant(result.value_ms->hi)));
      tree.add(target, document::number_node(result.value_ms->value));
    }
  }
  if (predicted.bound.empty()) {
    lines.push_back(fmt::format("  sure to suffice with {:.0f} %", predicted.p_feasible * 100.0));
    tree.add("p_feasible", document::number_node(predicted.p_feasible));
  } else {
    lines.push_back("  at best: " + predicted.bound);
    tree.add("bound", document::text_node(predicted.bound));
  }
  input.predicted = std::move(lines);
  input.prediction = tree.build();
}

/// How many replicas an autoscaler may run, where the question says: from those that serve, to as
/// many as there are GPUs for.
void limit_replicas(const plan::Answer& answer,
                    const plan::PlanCandidate& candidate,
                    deploy::Input& input) {
  const plan::Limits& limits = answer.question.limits;
  const bool has_stock =
      std::ranges::find(limits.stock,
                        candidate.gpu,
                        &std::pair<std::string, std::int64_t>::first) != limits.stock.end();
  const std::int64_t most =
      limits.max_gpus || has_stock
          ? plan::most_replicas(limits, candidate.gpu, candidate.gpus_per_replica)
          : candidate.replicas;
  const std::int64_t least = answer.serving(candidate.replicas);
  if (most > least) {
    input.min_replicas = least;
    input.max_replicas = most;
  }
}

/// CPU time of this process, all threads.
double core_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// What is written of an answer.
struct Saved {
  std::vector<document::NewFile> files;
  core::Warnings warnings;  ///< Deployments that some target cannot express.
};

/// The targets that can express a deployment; each of the others becomes a warning.
std::vector<const deploy::Target*> able_targets(const deploy::Input& input,
                                                const std::vector<const deploy::Target*>& all,
                                                std::size_t place,
                                                core::Warnings& warnings) {
  std::vector<const deploy::Target*> able;
  for (const deploy::Target* target : all) {
    if (const auto layout = deploy::layout_of(input, target->abilities)) {
      able.push_back(target);
    } else {
      const core::Error& why = layout.error().front();
      warnings.push_back(
          {.code = "W-not-written",
           .message = fmt::format("top{} is not written: {} {}", place, why.field, why.message)});
    }
  }
  return able;
}

/// Puts the files of one deployment into a folder of their own.
void put_below(std::string_view folder,
               std::vector<document::NewFile> files,
               std::vector<document::NewFile>& all) {
  for (document::NewFile& file : files) {
    file.name = fmt::format("{}/{}", folder, file.name);
    all.push_back(std::move(file));
  }
}

/// Writes all files or none; the paths that they have.
core::Result<std::vector<std::string>> save_all(const Arguments& arguments,
                                                std::span<const document::NewFile> files) {
  std::string folder = arguments.value("save-dir");
  if (auto done = document::save_files("--save-dir", folder, files); !done) {
    return core::fail(std::move(done).error());
  }
  folder += folder.ends_with('/') ? "" : "/";
  std::vector<std::string> paths;
  for (const document::NewFile& file : files) {
    paths.push_back(folder + file.name);
  }
  return paths;
}

/// The files of the best deployments that can be written: top1/ and so on. Fails where none can.
core::Result<Saved> deployments_of(const plan::Answer& answer, const PlanJob& job) {
  Saved saved;
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    const plan::PlanCandidate& candidate = answer.candidates[answer.ranking[i]];
    if (!candidate.resolved) {
      continue;
    }
    deploy::Input input{.resolved = *candidate.resolved,
                        .ridgeline = std::string(report::version())};
    predict({.load = answer.workload,
             .results = candidate.targets,
             .p_feasible = candidate.p_feasible,
             .bound = candidate.bound},
            answer.question.slo.targets,
            input);
    input.plan_digest = answer.digest;
    if (candidate.capacity) {
      input.capacity_rps =
          candidate.capacity->value * static_cast<double>(answer.serving(candidate.replicas));
    }
    limit_replicas(answer, candidate, input);
    const auto able = able_targets(input, job.targets_of(candidate.engine), i + 1, saved.warnings);
    if (able.empty()) {
      if (!job.states_targets) {  // What no target can express runs here all the same.
        put_below(
            fmt::format("top{}", i + 1), {deploy::scenario_file(*candidate.resolved)}, saved.files);
      }
      continue;
    }
    auto files = deploy::deployment_files(input, able);
    if (!files) {
      return core::fail(files.error());
    }
    put_below(fmt::format("top{}", i + 1), std::move(*files), saved.files);
  }
  if (saved.files.empty() && !saved.warnings.empty()) {
    return core::fail(core::Error{.field = "--save-dir",
                                  .message = saved.warnings.front().message,
                                  .where = {.file = "command line"}});
  }
  return saved;
}

/// The files of a mix: pool1/ and so on.
core::Result<std::vector<document::NewFile>> files_of_pools(const plan::MixAnswer& answer,
                                                            const PlanJob& job) {
  std::vector<document::NewFile> all;
  for (std::size_t i = 0; i < answer.pools.size(); ++i) {
    const plan::MixPool& pool = answer.pools[i];
    deploy::Input input{.resolved = *pool.resolved, .ridgeline = std::string(report::version())};
    predict({.load = fmt::format(
                 "{} req/s, {}", report::significant(pool.rate), report::served_text(answer, pool)),
             .results = pool.targets,
             .p_feasible = pool.p_feasible,
             .bound = answer.candidates[pool.candidate].bound},
            answer.question.slo.targets,
            input);
    if (std::ranges::count_if(pool.shares, [](double share) { return share > 0.0; }) > 1) {
      input.predicted.push_back(
          fmt::format("  scenario.yaml and bench.sh have requests of {} alone",
                      answer.question.classes[pool.main_class].name));
    }
    input.plan_digest = answer.digest;
    auto files = deploy::deployment_files(
        input, job.targets_of(pool.resolved->deployment->section.engine.version));
    if (!files) {
      return core::fail(std::move(files).error());
    }
    put_below(fmt::format("pool{}", i + 1), std::move(*files), all);
  }
  return all;
}

/// All that --save-dir writes.
core::Result<Saved> files_of(const plan::Answer& answer,
                             const PlanJob& job,
                             const Arguments& arguments) {
  auto saved = deployments_of(answer, job);
  const auto folder = [&](std::size_t place) {
    return fmt::format("{}/top{}", arguments.value("save-dir"), place);
  };
  for (std::size_t place = answer.ranking.size() + 1;
       saved && std::filesystem::exists(std::filesystem::symlink_status(folder(place)));
       ++place) {
    saved->warnings.push_back(
        {.code = "W-earlier-plan",
         .message = fmt::format("{} is of an earlier plan: this one has {} {}",
                                folder(place),
                                answer.ranking.size(),
                                core::plural("deployment", answer.ranking.size()))});
  }
  if (saved && arguments.has("what-to-measure")) {
    saved->files.push_back(
        {.name = "measure.sh",
         .text = report::measurement_script(
             answer, static_cast<std::size_t>(job.question.top_n), arguments.has("kernels-only")),
         .is_script = true});
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

/// An answer in a format that is no table.
std::string written(const document::Node& tree, std::string_view format) {
  return format == "json" ? report::json_text(tree) : report::plan_page(tree);
}

/// What `plan` shows of an answer.
ExitCode show(const plan::Answer& answer,
              const std::vector<std::string>& files,
              const report::PlanRunInfo& info,
              const PlanJob& job,
              const Arguments& arguments,
              VerbOutputs& outputs,
              const Manners& manners) {
  if (arguments.has("what-to-measure")) {
    return put_out(
        report::plan_measurements(
            answer, static_cast<std::size_t>(job.question.top_n), arguments.has("kernels-only")),
        manners);
  }
  return outputs.put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return format == "table" ? report::plan_table(answer, style, files)
                                 : written(report::plan_tree(answer, info, files), format);
      },
      manners);
}

/// A mix of GPUs for the classes of the question.
ExitCode run_mix(const PlanJob& job,
                 const Arguments& arguments,
                 VerbOutputs& outputs,
                 const Manners& manners) {
  core::Errors errors;
  for (const char* flag : {"explain", "what-to-measure", "replicas", "svg", "store"}) {
    if (arguments.has(flag)) {
      errors.push_back({.field = fmt::format("--{}", flag),
                        .message = "is not taken of a mix: `mix` of the plan asks for one",
                        .where = {.file = "command line"},
                        .hint = "a plan for each pool's requests"});
    }
  }
  if (!errors.empty()) {
    return give_up(errors, manners);
  }
  ProgressDisplay display(job.progress, manners.err);
  const InterruptGuard guard;
  const plan::PlanOptions options{
      .jobs = job.jobs,
      .progress = [&display](const plan::PlanProgress& progress) { display.update(progress); }};
  const auto answer = plan::plan_mix(job.question, options, InterruptGuard::flag());
  display.finish();
  if (!answer) {
    return give_up(answer.error(), manners);
  }
  std::vector<std::string> files;
  core::Errors unsaved;  // Said behind the answer, which stands.
  if (arguments.has("save-dir") && !answer->partial && answer->failure.empty()) {
    auto saved = files_of_pools(*answer, job).and_then([&](const auto& all) {
      return save_all(arguments, all);
    });
    keep_errors(saved, unsaved);
    files = std::move(saved).value_or(files);
  }
  const report::PlanRunInfo info{
      .wall_time_s = display.wall_seconds(), .core_seconds = core_seconds(), .jobs = job.jobs};
  const ExitCode shown = outputs.put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return format == "table" ? report::mix_table(*answer, style, files)
                                 : written(report::mix_tree(*answer, info, files), format);
      },
      manners);
  if (!unsaved.empty()) {
    return give_up(unsaved, manners);
  }
  if (shown != ExitCode::kOk) {
    return shown;
  }
  return answer->partial           ? InterruptGuard::exit_code()
         : answer->failure.empty() ? ExitCode::kOk
         : answer->only_bounds     ? ExitCode::kThreshold
                                   : ExitCode::kInfeasible;
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
  std::optional<OutputFile> svg;
  if (arguments.has("svg")) {
    auto opened = open_picture(arguments.value("svg"));
    if (!opened) {
      return give_up(opened.error(), manners);
    }
    svg.emplace(std::move(*opened));
  }
  auto answer = plan::plan(job.question, options, InterruptGuard::flag());
  display.finish();
  if (!answer) {
    return give_up(answer.error(), manners);
  }
  if (svg) {
    svg->stream() << report::plan_svg(*answer);
    if (const auto drawn = svg->commit(); !drawn) {
      return give_up(drawn.error(), manners);
    }
  }
  if (arguments.has("explain")) {
    return explain(*answer, arguments.value("explain"), manners);
  }
  std::vector<std::string> files;
  core::Errors unsaved;  // Said behind the answer, which stands.
  if (arguments.has("save-dir") && answer->pick) {
    auto saved = files_of(*answer, job, arguments).and_then([&](const Saved& all) {
      answer->warnings.insert(answer->warnings.end(), all.warnings.begin(), all.warnings.end());
      return save_all(arguments, all.files);
    });
    keep_errors(saved, unsaved);
    files = std::move(saved).value_or(files);
  }
  const report::PlanRunInfo info{
      .wall_time_s = display.wall_seconds(), .core_seconds = core_seconds(), .jobs = job.jobs};
  const ExitCode shown = show(*answer, files, info, job, arguments, outputs, manners);
  if (!unsaved.empty()) {
    return give_up(unsaved, manners);
  }
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
  return job->question.classes.empty() ? run_plan(*job, arguments, *outputs, manners)
                                       : run_mix(*job, arguments, *outputs, manners);
}

}  // namespace ridgeline::cli

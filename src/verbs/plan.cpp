#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "deploy/deployment.hpp"
#include "deploy/registry.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/save.hpp"
#include "plan/answer.hpp"
#include "plan/answer_tree.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/mix_plan.hpp"
#include "plan/mix_tree.hpp"
#include "plan/planner.hpp"
#include "plan/question.hpp"
#include "report/palette.hpp"
#include "report/plan_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "scenario/scenario.hpp"
#include "verbs/clock.hpp"
#include "verbs/plan_files.hpp"
#include "verbs/plan_measurements.hpp"
#include "verbs/plan_mix_view.hpp"
#include "verbs/plan_picture.hpp"
#include "verbs/plan_view.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

/// What is asked.
struct PlanJob {
  plan::Question question = {};
  std::int64_t jobs = 1;
  PlanTargets targets = {};
  std::string folder = {};   ///< For the files of deployments; empty: none.
  std::string store = {};    ///< Where runs are kept; empty: nowhere.
  std::string explain = {};  ///< The deployment to explain; empty: none.
  bool measure = false;      ///< Says what to measure.
  bool kernels_only = false;
  bool states_replicas = false;

  [[nodiscard]] std::size_t top_n() const { return static_cast<std::size_t>(question.top_n); }
};

/// The targets that are named, and what they have in common.
PlanTargets take_targets(Request& request, bool saves) {
  PlanTargets found;
  std::vector<const deploy::Target*>& targets = found.named;
  const std::vector<std::string> names = request.take_texts("deployment_target");
  found.are_stated = !names.empty();
  for (const std::string& name : names) {
    const auto target = deploy::find_target(name);
    request.keep(target);
    if (target) {
      targets.push_back(*target);
    }
  }
  if (found.are_stated && !saves) {
    request.add(request.problem(
        "save_dir", "missing, expected the folder for the files", "--save-dir out"));
  }
  if (targets.empty() && saves) {
    targets.push_back(deploy::targets().front());
  }
  if (targets.size() > 1 && deploy::common_router(targets).empty()) {
    std::vector<std::string> each;
    for (const deploy::Target* target : targets) {
      each.push_back(fmt::format(
          "{} has {}", target->abilities.target, fmt::join(target->abilities.routers, ", ")));
    }
    request.add(request.problem(
        "deployment_target",
        fmt::format("found targets without a routing policy in common, so that no one plan can be "
                    "deployed by all: {}",
                    fmt::join(each, "; ")),
        "plan for each of them"));
  }
  return found;
}

/// The question; on a command line some of its keys are words, which in a document have more to
/// say.
core::Result<plan::Question> take_question(Request& request, const Routers& routers) {
  plan::QuestionWords words;
  words.prices = request.take_word("prices");
  words.effort = request.take_word("effort");
  words.confidence = request.take_word("confidence");
  words.top_n = request.take_word("top_n");
  const bool says_gpus = request.has("gpus");
  words.max_gpus = request.take_word(says_gpus ? "gpus" : "max_gpus");
  if (says_gpus && request.has("max_gpus")) {
    request.add(request.problem("gpus", "says the same as --max-gpus: give one of them"));
  }
  words.accept_bounds = request.take_bool("accept_bounds", false);
  words.routers = routers.names;
  words.routers_of = routers.of;
  core::Warnings warnings;
  if (request.is_words()) {
    words.axes = request.take_texts("axis");
    words.objective = request.take_word("objective");
    words.maximize = request.take_word("maximize");
    words.slo = request.take_word("slo");
    words.replicas = request.take_word("replicas");
    if (!request.stated()) {
      return core::fail(request.stated().error());
    }
    words.file = request.stated()->file;
    words.overrides = request.stated()->overrides;
    warnings = request.stated()->warnings;
  } else {
    words.document = request.document();
  }
  auto question = plan::read_question(words);
  if (question) {
    question->warnings.insert(question->warnings.begin(), warnings.begin(), warnings.end());
  }
  return question;
}

core::Result<PlanJob> take_job(Request& request, bool of_kernels) {
  PlanJob job{.folder = request.take_text("save_dir"),
              .store = request.take_text("store"),
              .explain = request.take_text("explain"),
              .measure = request.take_bool("what_to_measure", false) || of_kernels,
              .kernels_only = request.take_bool("kernels_only", false) || of_kernels,
              .states_replicas = request.is_words() && request.has("replicas")};
  job.targets = take_targets(request, !job.folder.empty());
  if (job.kernels_only && !job.measure) {
    request.add(request.problem("kernels_only",
                                "would be ignored: it is of --what-to-measure",
                                "--what-to-measure --kernels-only"));
  }
  if (!job.explain.empty() && job.measure) {
    request.add(request.problem("explain",
                                "found beside --what-to-measure, expected one of them: both say "
                                "something instead of the table"));
  }
  if (!job.folder.empty()) {
    request.keep(document::can_save("--save-dir", job.folder));
  }
  job.jobs = request.take_threads("jobs");
  if (!request.is_words() && !request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto question = take_question(request, routers_of(job.targets));
  if (question && question->most_of && job.measure) {
    request.add(request.problem("what_to_measure",
                                "is not taken of a question with maximize: no cost is at stake",
                                "the cheapest deployment for a load says what to measure"));
  }
  request.keep(question);
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  job.question = std::move(*question);
  if (job.targets.are_stated) {
    if (core::Errors none = unwritable(job.question, job.targets); !none.empty()) {
      return core::fail(std::move(none));
    }
  }
  return job;
}

/// Writes all files or none; the paths that they have.
core::Result<std::vector<std::string>> save_all(const PlanJob& job, const Saved& saved) {
  if (auto done = document::save_files("--save-dir", job.folder, saved.files); !done) {
    return core::fail(std::move(done).error());
  }
  std::vector<std::string> paths;
  for (const document::NewFile& file : saved.files) {
    paths.push_back(job.folder + (job.folder.ends_with('/') ? "" : "/") + file.name);
  }
  return paths;
}

/// All that is written of an answer.
core::Result<Saved> files_of(const plan::Answer& answer, const PlanJob& job) {
  auto saved = deployments_of(answer, job.targets);
  const auto folder = [&](std::size_t place) { return fmt::format("{}/top{}", job.folder, place); };
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
  if (saved && job.measure) {
    saved->files.push_back({.name = "measure.sh",
                            .text = measurement_script(answer, job.top_n(), job.kernels_only),
                            .is_script = true});
  }
  return saved;
}

/// The answer's tree, and its page.
Reply reply_with(const std::function<document::Node()>& tree) {
  return {
      .tree = tree,
      .views = {{"html", [tree](const report::TextStyle&) { return report::plan_page(tree()); }}}};
}

plan::PlanOptions options_of(const PlanJob& job, Host& host) {
  return {.jobs = job.jobs, .progress = [&host](const plan::PlanProgress& at) {
            host.progress(Stage{.name = at.stage, .done = at.done, .all = at.all, .best = at.best});
          }};
}

/// A mix of GPUs for the classes of the question.
core::Result<Reply> plan_of_classes(const PlanJob& job,
                                    const Request& request,
                                    bool draws,
                                    Host& host) {
  const StopWatch clock;
  core::Errors errors;
  const auto refuse = [&](bool is_stated, std::string_view key) {
    if (is_stated) {
      errors.push_back(request.problem(key,
                                       "is not taken of a mix: `mix` of the plan asks for one",
                                       "a plan for each pool's requests"));
    }
  };
  refuse(!job.explain.empty(), "explain");
  refuse(job.measure, "what_to_measure");
  refuse(job.states_replicas, "replicas");
  refuse(draws, "svg");
  refuse(!job.store.empty(), "store");
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const auto watch = host.watch(Host::Work::kOnThreads);
  auto found = plan::plan_mix(job.question, options_of(job, host), host.stop());
  if (!found) {
    return core::fail(std::move(found).error());
  }
  const auto answer = shared(std::move(*found));
  std::vector<std::string> files;
  if (!job.folder.empty() && !answer->partial && answer->failure.empty()) {
    auto saved = files_of_pools(*answer, job.targets).and_then([&](const Saved& all) {
      return save_all(job, all);
    });
    errors = saved ? core::Errors() : saved.error();
    files = std::move(saved).value_or(files);
  }
  const plan::PlanRunInfo info{
      .wall_time_s = clock.seconds(), .core_seconds = core_seconds(), .jobs = job.jobs};
  Reply reply = reply_with([answer, info, files] { return plan::mix_tree(*answer, info, files); });
  add_views(reply, reply.tree, mix_sheet);
  reply.code = !errors.empty()           ? exit_code(errors)
               : answer->partial         ? host.stopped()
               : answer->failure.empty() ? 0
               : answer->only_bounds     ? kThreshold
                                         : kInfeasible;
  reply.errors = std::move(errors);
  return reply;
}

int code_of(const plan::Answer& answer, const Host& host) {
  if (answer.partial) {
    return host.stopped();
  }
  return answer.pick ? 0 : answer.is_infeasible ? kInfeasible : kThreshold;
}

/// A text in place of the answer; a host gets it as `text` of a tree.
Reply only_text(const Request& request, const Reply::View& text) {
  if (request.is_words()) {
    return {.views = {{"table", text}}, .is_aside = true};
  }
  return answer_of(document::MapBuilder().add("text", text({})).build());
}

core::Result<Reply> explained(const Found<plan::Answer>& answer,
                              const std::string& id,
                              const Request& request) {
  const auto sheet = plan_explanation(plan::answer_tree(*answer, {}), id);
  if (!sheet) {
    return core::fail(request.problem("explain",
                                      fmt::format("no deployment of this plan is \"{}\"", id),
                                      "ids stand in --format json; 1 is the best"));
  }
  return only_text(request, [sheet](const report::TextStyle& style) {
    return sheet->render(report::Face::kTerminal, style);
  });
}

Reply measurements_of(const Found<plan::Answer>& answer,
                      const PlanJob& job,
                      const Request& request) {
  return only_text(request,
                   [answer, n = job.top_n(), only = job.kernels_only](const report::TextStyle&) {
                     return plan_measurements(*answer, n, only);
                   });
}

core::Result<Reply> plan_of_one(const PlanJob& job, const Request& request, Host& host) {
  const StopWatch clock;
  plan::PlanOptions options = options_of(job, host);
  std::unique_ptr<plan::EvaluationStore> store;
  if (!job.store.empty()) {
    auto opened = plan::EvaluationStore::open(
        job.store, core::version(), [&clock] { return clock.seconds(); });
    if (!opened) {
      return core::fail(std::move(opened).error());
    }
    store = std::move(*opened);
    options.store = store.get();
  }
  const auto watch = host.watch(Host::Work::kOnThreads);
  auto found = plan::plan(job.question, options, host.stop());
  if (!found) {
    return core::fail(std::move(found).error());
  }
  std::vector<std::string> files;
  core::Errors unsaved;
  if (!job.folder.empty() && found->pick && job.explain.empty()) {
    auto saved = files_of(*found, job).and_then([&](const Saved& all) {
      found->warnings.insert(found->warnings.end(), all.warnings.begin(), all.warnings.end());
      return save_all(job, all);
    });
    unsaved = saved ? core::Errors() : saved.error();
    files = std::move(saved).value_or(files);
  }
  const plan::PlanRunInfo info{
      .wall_time_s = clock.seconds(), .core_seconds = core_seconds(), .jobs = job.jobs};
  const auto answer = shared(std::move(*found));
  if (!job.explain.empty()) {
    auto reply = explained(answer, job.explain, request);
    if (reply) {
      reply->artefacts["svg"] = [answer] { return plan_svg(*answer); };
    }
    return reply;
  }
  const auto tree = [answer, info, files] { return plan::answer_tree(*answer, info, files); };
  Reply reply = job.measure ? measurements_of(answer, job, request) : reply_with(tree);
  if (!job.measure) {
    add_views(reply, tree, plan_sheet);
  }
  reply.artefacts["svg"] = [answer] { return plan_svg(*answer); };
  reply.code = unsaved.empty() ? code_of(*answer, host) : exit_code(unsaved);
  reply.errors = std::move(unsaved);
  return reply;
}

core::Result<Reply> planned(Request& request, Host& host, bool of_kernels) {
  const bool draws = host.wants("svg");
  const auto job = take_job(request, of_kernels);
  if (!job) {
    return core::fail(job.error());
  }
  return job->question.classes.empty() ? plan_of_one(*job, request, host)
                                       : plan_of_classes(*job, request, draws, host);
}

core::Result<Reply> plan_deployment(Request& request, Host& host) {
  return planned(request, host, false);
}
core::Result<Reply> plan_kernels(Request& request, Host& host) {
  return planned(request, host, true);
}

std::vector<Parameter> question_parameters() {
  using Kind = Parameter::Kind;
  return {
      {.key = "axis",
       .kind = Kind::kEach,
       .value = "KEY=V,V",
       .help = "Searches a setting: values by commas, or {from: 64, to: 512, factor: 2}"},
      {.key = "objective",
       .value = "NAME,...",
       .help = "What is to be small: gpus, usd_per_hour, usd_per_mtok, watts, joules_per_token; "
               "several: those that none dominates"},
      {.key = "slo", .value = "PRESET", .help = "Targets of MLPerf: mlperf/llama2-70b-interactive"},
      {.key = "maximize",
       .value = "throughput",
       .help = "Asks instead for the most output tokens/s of --gpus within the targets: at as many "
               "clients as meet them, or with --request-rate auto at the rate"},
      {.key = "gpus", .value = "N", .help = "GPUs to share out, at most: as --max-gpus"},
      {.key = "replicas", .value = "N,...", .help = "Only these numbers of replicas"},
      {.key = "max_gpus", .value = "N", .help = "GPUs of all replicas together, at most"},
      {.key = "prices", .value = "FILE", .help = "Prices of GPUs per hour"},
      {.key = "accept_bounds",
       .kind = Kind::kSwitch,
       .help = "Ranks GPUs of which only bounds are known among the others: priced by a datasheet "
               "alone, or watts"},
      {.key = "confidence",
       .value = "SHARE",
       .help = "How sure the answer must be to meet the targets; 0.9 by default"},
      {.key = "top_n", .value = "N", .help = "Deployments that are shown; 5 by default"},
      {.key = "effort",
       .value = "quick|normal|full",
       .help = "A quarter of the requests, or four times as many"},
  };
}

/// What the answer is turned into.
std::vector<Parameter> answer_parameters() {
  using Kind = Parameter::Kind;
  return {
      {.key = "explain",
       .value = "ID",
       .help = "Says instead why this deployment is where it is: its id or the begin of it, or its "
               "place"},
      {.key = "what_to_measure",
       .kind = Kind::kSwitch,
       .help = "Says instead what to measure first, with the command; --top-n of them"},
      {.key = "kernels_only",
       .kind = Kind::kSwitch,
       .help = "With --what-to-measure: times of kernels alone, as `kernels plan`"},
      {.key = "save_dir",
       .value = "DIR",
       .help = "Writes the files of the best deployments: DIR/top1 and so on"},
      {.key = "deployment_target",
       .kind = Kind::kEach,
       .value = "NAME",
       .help = "What runs them: vllm, docker, kubernetes ...; vllm by default"},
      {.key = "store",
       .value = "DIR",
       .help = "Keeps what runs found: an interrupted plan goes on from there"},
      {.key = "svg",
       .kind = Kind::kFile,
       .value = "FILE",
       .help = "Draws what deployments cost against what they serve"},
      {.key = "jobs", .value = "N", .help = "Runs at a time; one per core by default"},
      output_parameter(),
      progress_parameter(),
      scenario_parameters(),
      {.key = "aiconfigurator", .kind = Kind::kHosts},
  };
}

}  // namespace

Verb plan_verb() {
  std::vector<Parameter> parameters = question_parameters();
  for (Parameter& parameter : answer_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  return {
      .name = "plan",
      .summary = "which deployment serves a workload within its targets at least cost",
      .usage = "plan [plan.yaml] [flags]",
      .about =
          "Which deployment serves a workload within its targets at least cost, and how sure that "
          "is.\n"
          "The rate is the whole system's. Lists by commas are searched: --gpu h100,h200; tensor "
          "parallelism\n"
          "is tried at every width unless it is stated. In a file, `space`, `slo`, `limits`, "
          "`objective` and `cost`\n"
          "stand beside the keys of a scenario. Targets (--slo-ttft 500ms) are of the p99, or of "
          "--slo-statistic.\n"
          "Exit code 4 when nothing meets the targets, 99 when nothing does surely enough, 130 "
          "after Ctrl-C\n"
          "with the best so far.",
      .scenario = ScenarioPart::kWhole,
      .parameters = std::move(parameters),
      .formats = sheet_formats(),
      .has_parts = true,
      .run = plan_deployment};
}

Verb kernels_plan_verb() {
  Verb verb = plan_verb();
  verb.name = "kernels plan";
  verb.summary = "which kernel's time would change a plan most (plan --what-to-measure)";
  verb.run = plan_kernels;
  return verb;
}

}  // namespace ridgeline::verbs

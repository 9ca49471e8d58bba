#include "cli/commands/simulate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/simulate.hpp"
#include "cli/arguments.hpp"
#include "cli/bench_words.hpp"
#include "cli/commands/compare_runs.hpp"
#include "cli/commands/prompt_count.hpp"
#include "cli/commands/series_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/faults.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cluster/decision.hpp"
#include "core/result.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "evidence/validate/client_files.hpp"
#include "latency/measured/table_notes.hpp"
#include "metrics/listeners.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "metrics/timeline.hpp"
#include "report/client_results.hpp"
#include "report/decision_log.hpp"
#include "report/palette.hpp"
#include "report/registry.hpp"
#include "report/request_log.hpp"
#include "report/results/headline.hpp"
#include "report/results/run.hpp"
#include "report/run_result.hpp"
#include "report/step_log.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/scenario_rules.hpp"
#include "sim/cache_state.hpp"
#include "sim/operations.hpp"
#include "sim/simulation.hpp"
#include "sim/step_watch.hpp"
#include "workload/source.hpp"

namespace ridgeline::cli {

namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& exporter : report::exporters()) {
    names.push_back(exporter.name);
  }
  return names;
}

std::vector<FlagSpec> simulation_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags = scenario_flags(ScenarioPart::kWhole);
  flags.push_back({.name = "compare",
                   .value = "A,B,...",
                   .help = "Step-time models side by side, instead of --latency"});
  flags.push_back(output_flag());
  flags.push_back({.name = "requests-out",
                   .value = "FILE",
                   .help = "One record per request, as .csv, .jsonl or .ndjson"});
  flags.push_back({.name = "routing-out",
                   .value = "FILE.jsonl",
                   .help = "One record per routing decision, with its scores and what it knew"});
  flags.push_back({.name = "routing-audit",
                   .takes = Takes::kNothing,
                   .help = "Makes every routing decision again on views of age 0; slow"});
  flags.push_back(
      {.name = "cache-state-out",
       .value = "FILE.json",
       .help = "What the prefix caches hold at the end, for --cache-state of a later run"});
  flags.push_back({.name = "client-results",
                   .repeatable = true,
                   .value = "CLIENT=FILE",
                   .help = "As that client would write it: vllm-bench, guidellm, inference-perf, "
                           "aiperf (the last two: and one record per request beside it)"});
  for (auto& flag : series_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back({.name = "no-header",
                   .takes = Takes::kNothing,
                   .help = "CSV without its line of names, for loops that append"});
  flags.push_back({.name = "fail-on-slo",
                   .takes = Takes::kNothing,
                   .help = "Exit with 99 where a target (--slo-ttft ...) is missed"});
  flags.push_back({.name = "engine-core",
                   .value = "fast|reference",
                   .help = "Which of the two engines; they give the same result"});
  flags.push_back({.name = "no-jump",
                   .takes = Takes::kNothing,
                   .help = "Step one by one; the same result, slower"});
  flags.push_back({.name = "threads",
                   .value = "N",
                   .help = "Threads for instances that nothing connects [1]; results do not "
                           "depend on it"});
  for (auto& flag : saved_result_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(progress_flag());
  flags.push_back(
      {.name = "steps-out",
       .value = "FILE.jsonl",
       .help = "One record per step or run of equal steps, with every operator's time; slow"});
  const std::string formats = fmt::format("{}", fmt::join(format_names(), "|"));
  for (auto& flag : manner_flags(formats)) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

/// A file that gets the result.
struct Target {
  OutputFile file;
  const report::Exporter* exporter;
};

/// A file in the schema of a benchmark client, and the one beside it where it writes two.
struct ClientTarget {
  OutputFile file;
  std::optional<OutputFile> requests;
  const report::ClientFormat* format;
};

/// A table without its line of names.
std::string without_header(const std::string& text) {
  return text.substr(std::min(text.find('\n') + 1, text.size()));
}

/// One simulation, from words to files.
class Simulation {
 public:
  Simulation(const SimulationVerb& verb, Arguments arguments, Manners manners)
      : verb_(verb), arguments_(std::move(arguments)), manners_(std::move(manners)) {}

  ExitCode run() {
    for (const auto stage : {&Simulation::read_controls, &Simulation::prepare}) {
      if (const auto done = (this->*stage)(); !done) {
        return give_up(done.error(), manners_);
      }
    }
    // From here on there are files to complete or to take away.
    const InterruptGuard guard;
    if (resolved_.run.percentiles == "exact") {
      set_memory_hint(
          "--percentiles sketch keeps a few megabytes, whatever the number of requests");
    }
    if (const auto done = open_files(); !done) {
      return give_up(done.error(), manners_);
    }
    const auto result = simulate();
    if (!result) {
      return give_up(result.error(), manners_);
    }
    return show(*result);
  }

 private:
  core::Result<void> read_controls() {
    static const std::array<std::string, 2> kCores = {"fast", "reference"};
    core::Errors errors;
    core_ = arguments_.value("engine-core", "fast");
    if (std::ranges::find(kCores, core_) == kCores.end()) {
      errors.push_back(bad_choice("engine-core", core_, kCores));
    }
    const auto threads = read_count(arguments_, "threads", 1, kMostThreads);
    if (threads) {
      threads_ = *threads;
    } else {
      errors.insert(errors.end(), threads.error().begin(), threads.error().end());
    }
    if (const auto windows = series_windows(arguments_)) {
      series_windows_ = *windows;
    } else {
      errors.insert(errors.end(), windows.error().begin(), windows.error().end());
    }
    const auto progress = progress_mode(arguments_, manners_.err);
    if (!progress) {
      errors.insert(errors.end(), progress.error().begin(), progress.error().end());
    }
    if (!errors.empty()) {
      return core::fail(std::move(errors));
    }
    progress_ = *progress;
    return {};
  }

  core::Result<void> prepare() {
    auto loaded = load(arguments_, verb_.purpose);
    if (!loaded) {
      return core::fail(loaded.error());
    }
    auto resolved = scenario::resolve(std::move(*loaded));
    if (!resolved) {
      return core::fail(resolved.error());
    }
    resolved_ = std::move(*resolved);
    const scenario::SloSection& slo = resolved_.run.slo;
    if (arguments_.has("fail-on-slo") && !(slo.ttft || slo.tpot || slo.itl || slo.e2e)) {
      return core::fail(core::Error{.field = "--fail-on-slo",
                                    .message = "there is no target to miss",
                                    .where = {.file = "command line"},
                                    .hint = "--slo-ttft, --slo-tpot, --slo-itl or --slo-e2e"});
    }
    if (arguments_.has("steps-out") && sim::num_places(resolved_) > 1) {
      return core::fail(core::Error{.field = "--steps-out",
                                    .message = "the log would mix the steps of all instances",
                                    .where = {.file = "command line"},
                                    .hint = "--instances 1"});
    }
    for (const std::string_view flag : {"routing-out", "routing-audit"}) {
      if (arguments_.has(flag) && !resolved_.run.cluster.instances) {
        return core::fail(core::Error{.field = fmt::format("--{}", flag),
                                      .message = "there is no gateway to decide",
                                      .where = {.file = "command line"},
                                      .hint = "--instances 2"});
      }
    }
    if (arguments_.has("cache-state-out")) {
      if (const std::string why = scenario::why_no_cache_state(resolved_.scenario());
          !why.empty()) {
        return core::fail(core::Error{.field = "--cache-state-out",
                                      .message = why,
                                      .where = {.file = "command line"},
                                      .hint = "leave it out"});
      }
    }
    auto source = resolved_.workload.open();
    if (!source) {
      return core::fail(source.error());
    }
    source_ = std::move(*source);
    return {};
  }

  core::Result<void> open_files() {
    core::Errors errors;
    const auto keep = [&](const core::Errors& more) {
      errors.insert(errors.end(), more.begin(), more.end());
    };
    for (const auto& path : arguments_.values("output")) {
      if (OutputFile::is_direct(path) && manners_.format == kQuiet) {
        errors.push_back(OutputFile::writes_nothing("--output", path));
        continue;
      }
      const auto exporter = OutputFile::is_direct(path) ? report::find_exporter(manners_.format)
                                                        : report::exporter_for_path(path);
      auto file = OutputFile::open("--output", path);
      if (exporter && file) {
        targets_.push_back({.file = std::move(*file), .exporter = *exporter});
        continue;
      }
      keep(exporter ? core::Errors() : exporter.error());
      keep(file ? core::Errors() : file.error());
    }
    if (const GivenFlag* flag = arguments_.find("requests-out")) {
      const auto format =
          OutputFile::is_direct(flag->value)
              ? core::Result<report::RequestLogFormat>(report::RequestLogFormat::kJsonLines)
              : report::request_log_format(flag->value);
      auto file = OutputFile::open("--requests-out", flag->value);
      if (format && file) {
        log_file_.emplace(std::move(*file));
        log_ = report::make_request_log(
            *format, *source_, log_file_->stream(), resolved_.run.cluster.instances.has_value());
        if (*format == report::RequestLogFormat::kCsv) {
          prompts_.emplace();
        }
      } else {
        keep(format ? core::Errors() : format.error());
        keep(file ? core::Errors() : file.error());
      }
    }
    if (const GivenFlag* flag = arguments_.find("steps-out")) {
      if (auto file = OutputFile::open("--steps-out", flag->value)) {
        steps_file_.emplace(std::move(*file));
        steps_ = report::make_step_log(steps_file_->stream());
      } else {
        keep(file.error());
      }
    }
    if (const GivenFlag* flag = arguments_.find("routing-out")) {
      if (auto file = OutputFile::open("--routing-out", flag->value)) {
        decisions_file_.emplace(std::move(*file));
        decisions_ = report::make_decision_log(decisions_file_->stream());
      } else {
        keep(file.error());
      }
    }
    open_caches_file(errors);
    open_client_files(errors);
    return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
  }

  void open_caches_file(core::Errors& errors) {
    if (const GivenFlag* flag = arguments_.find("cache-state-out")) {
      if (auto file = OutputFile::open("--cache-state-out", flag->value)) {
        caches_file_.emplace(std::move(*file));
        caches_.emplace(resolved_);
      } else {
        errors.insert(errors.end(), file.error().begin(), file.error().end());
      }
    }
  }

  void open_client_files(core::Errors& errors) {
    for (const auto& word : arguments_.values("client-results")) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos || equals + 1 == word.size()) {
        errors.push_back({.field = "--client-results",
                          .message = fmt::format("found '{}', expected CLIENT=FILE", word),
                          .where = {.file = "command line"}});
        continue;
      }
      const auto format = report::find_client_format(word.substr(0, equals));
      if (!format) {
        errors.insert(errors.end(), format.error().begin(), format.error().end());
        continue;
      }
      open_client_file(**format, word.substr(equals + 1), errors);
    }
  }

  void open_client_file(const report::ClientFormat& format,
                        const std::string& path,
                        core::Errors& errors) {
    const auto open = [&](const std::string& name) -> std::optional<OutputFile> {
      auto file = OutputFile::open("--client-results", name);
      keep_error(file ? core::Result<void>() : core::fail(file.error()), errors);
      return file ? std::optional<OutputFile>(std::move(*file)) : std::nullopt;
    };
    auto file = open(path);
    auto requests = format.render_requests == nullptr
                        ? std::nullopt
                        : open(evidence::validate::requests_file(format.name, path));
    if (file) {
      client_targets_.push_back(
          {.file = std::move(*file), .requests = std::move(requests), .format = &format});
    }
  }

  /// A client that states its sampling does not measure a server that samples otherwise.
  void warn_of_sampling(core::Warnings& warnings) const {
    const auto& sampling = resolved_.deployment->network.sampling;
    for (const auto& target : client_targets_) {
      if (target.format->greedy && (sampling.truncates() || sampling.penalises())) {
        warnings.push_back(
            {.code = "W-client-sampling",
             .message = fmt::format(
                 "{} sends temperature 0, and this run samples as the network's "
                 "generation_config.json says; the file says so (generation_config: auto)",
                 target.format->name),
             .hint = "--generation-config vllm"});
      }
    }
  }

  /// A table of requests has no place for the tokens that prompts share.
  void warn_of_prompts(core::Warnings& warnings) const {
    if (prompts_ && prompts_->with_prompt() > 0) {
      warnings.push_back(
          {.code = "W-lost-prompts",
           .message = fmt::format("{} of {} prompts share tokens with others, which '{}' does not "
                                  "say: replayed, it has less in the prefix cache",
                                  prompts_->with_prompt(),
                                  prompts_->requests(),
                                  log_file_->path()),
           .hint = "--requests-out FILE.jsonl"});
    }
  }

  /// A client that is stopped writes no result.
  void warn_of_interruption(core::Warnings& warnings) const {
    for (const auto& target : client_targets_) {
      warnings.push_back({.code = "W-partial",
                          .message = fmt::format(
                              "the run was interrupted: '{}' is not written, as {} measures whole "
                              "runs",
                              target.file.path(),
                              target.format->name)});
    }
    if (log_file_) {
      warnings.push_back({.code = "W-partial",
                          .message = fmt::format("the run was interrupted: '{}' holds the requests "
                                                 "sent by then, those without an answer as "
                                                 "\"unfinished\"",
                                                 log_file_->path())});
    }
  }

  /// Whether an output has pictures over simulated time.
  [[nodiscard]] bool shows_series() const {
    const auto printed = report::find_exporter(manners_.format);
    return (printed && (*printed)->needs_series) ||
           std::ranges::any_of(targets_,
                               [](const Target& target) { return target.exporter->needs_series; });
  }

  core::Result<report::RunResult> simulate() {
    if (manners_.verbose) {
      static_cast<void>(write_all(STDERR_FILENO, report::provenance_text(resolved_)));
      const auto& latency = resolved_.deployment->section.latency;
      if (latency.bench_data) {
        static_cast<void>(write_all(
            STDERR_FILENO,
            latency::measured::loaded_text(*latency.bench_data, resolved_.deployment->gpu)));
      }
    }
    ProgressDisplay display(progress_, manners_.err);
    sim::RunControls controls;
    controls.core =
        core_ == "reference" ? engine::EngineCore::kReference : engine::EngineCore::kFast;
    controls.jump = !arguments_.has("no-jump");
    controls.threads = threads_;
    controls.interrupt = &InterruptGuard::flag();
    controls.progress = [&display](const sim::Progress& progress) { display.update(progress); };
    controls.steps = steps_.get();
    controls.decisions = decisions_.get();
    controls.routing_audit = arguments_.has("routing-audit");
    controls.series_windows = series_windows_;
    if (!series_windows_ && shows_series()) {
      controls.series_windows = metrics::Timeline::kUsualWindows;
    }
    metrics::Listeners listeners;
    if (log_) {
      listeners.add(log_.get());
      controls.stories = log_.get();
    }
    if (caches_) {
      listeners.add(&*caches_);
    }
    if (!client_targets_.empty()) {
      listeners.add(&client_results_);
    }
    if (prompts_) {
      listeners.add(&*prompts_);
    }
    controls.listener = listeners.empty() ? nullptr : &listeners;
    auto result = api::simulate(resolved_, *source_, controls);
    display.finish();
    client_results_.put_in_order();
    log_.reset();
    steps_.reset();
    decisions_.reset();
    if (result) {
      warn_of_sampling(result->warnings);
      warn_of_prompts(result->warnings);
      if (result->partial) {
        warn_of_interruption(result->warnings);
      }
    }
    return result;
  }

  [[nodiscard]] std::string rendered(const report::Exporter& exporter,
                                     const report::RunResult& result,
                                     const report::TextStyle& style) const {
    std::string text = exporter.render(result, style);
    return exporter.name == "csv" && arguments_.has("no-header") ? without_header(text) : text;
  }

  ExitCode show(const report::RunResult& result) {
    if (result.deployment) {
      client_results_.stand_for_all(resolved_.workload.share(), result.deployment->requests);
    }
    core::Errors errors;
    report::TextStyle style = text_style(manners_.out);
    for (auto& [file, exporter] : targets_) {
      file.stream() << rendered(*exporter, result, {});
      const auto written = file.commit();
      keep_error(written, errors);
      if (written) {
        style.saved_to += (style.saved_to.empty() ? "" : ", ") + file.path();
      }
    }
    for (auto& [file, requests, format] : client_targets_) {
      if (result.partial) {
        continue;
      }
      file.stream() << format->render(report::seen_by_client(result, client_results_),
                                      client_results_);
      keep_error(file.commit(), errors);
      if (requests) {
        requests->stream() << format->render_requests(client_results_);
        keep_error(requests->commit(), errors);
      }
    }
    if (log_file_) {
      keep_error(log_file_->commit(), errors);
    }
    if (steps_file_) {
      keep_error(steps_file_->commit(), errors);
    }
    if (caches_file_ && !result.partial) {
      caches_file_->stream() << sim::cache_state_text(caches_->state());
      keep_error(caches_file_->commit(), errors);
    }
    if (decisions_file_) {
      keep_error(decisions_file_->commit(), errors);
    }
    const auto exporter = report::find_exporter(manners_.format);
    if (!OutputFile::has_standard_output()) {
      keep_error(write_all(STDOUT_FILENO, rendered(**exporter, result, style)), errors);
    }
    if (manners_.format == "csv") {
      // The only format with results that has no place for them.
      for (const auto& warning : result.warnings) {
        static_cast<void>(write_all(STDERR_FILENO, render(warning, manners_.err)));
      }
    }
    if (!errors.empty()) {
      return give_up(errors, manners_);
    }
    if (result.partial) {
      return InterruptGuard::exit_code();
    }
    if (arguments_.has("fail-on-slo") && misses_target(result.summary)) {
      return ExitCode::kThreshold;
    }
    return answers_nothing(result.summary) ? ExitCode::kInfeasible : ExitCode::kOk;
  }

  /// Whether no request got an answer, which is then said on standard error.
  [[nodiscard]] bool answers_nothing(const metrics::Summary& summary) const {
    const auto error = report::unanswered(resolved_, summary);
    if (error) {
      print_errors({*error}, manners_.err);
    }
    return error.has_value();
  }

  /// Whether a target is missed, which is then said on standard error.
  [[nodiscard]] static bool misses_target(const metrics::Summary& summary) {
    const std::string text = report::missed_targets(summary);
    static_cast<void>(write_all(STDERR_FILENO, text));
    return !text.empty();
  }

  static void keep_error(const core::Result<void>& done, core::Errors& errors) {
    if (!done) {
      errors.insert(errors.end(), done.error().begin(), done.error().end());
    }
  }

  const SimulationVerb& verb_;
  Arguments arguments_;
  Manners manners_;
  std::string core_;
  std::int64_t threads_ = 1;
  std::optional<std::size_t> series_windows_;
  ProgressDisplay::Mode progress_ = ProgressDisplay::Mode::kNever;
  scenario::Resolved resolved_;
  std::unique_ptr<workload::Source> source_;
  std::vector<Target> targets_;
  std::optional<OutputFile> log_file_;
  std::unique_ptr<report::RequestLog> log_;
  std::optional<PromptCount> prompts_;
  std::optional<OutputFile> steps_file_;
  std::unique_ptr<sim::StepListener> steps_;
  std::optional<OutputFile> caches_file_;
  std::optional<sim::CacheStateKeeper> caches_;
  std::optional<OutputFile> decisions_file_;
  std::unique_ptr<cluster::DecisionSink> decisions_;
  std::vector<ClientTarget> client_targets_;
  report::ClientResults client_results_;
};

}  // namespace

ExitCode simulate_command(const SimulationVerb& verb, Words words) {
  const Opening opening{.usage = std::string(verb.usage),
                        .about = std::string(verb.about),
                        .flags = simulation_flags(),
                        .formats = format_names()};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (arguments.has("compare")) {
    return compare_runs(verb, arguments, manners);
  }
  take_saved_result(arguments);
  return Simulation(verb, std::move(arguments), std::move(manners)).run();
}

}  // namespace ridgeline::cli

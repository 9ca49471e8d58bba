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
#include "cli/commands/run_files.hpp"
#include "cli/commands/series_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/commands/watch_runs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/faults.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "latency/measured/table_notes.hpp"
#include "metrics/summary.hpp"
#include "metrics/timeline.hpp"
#include "report/palette.hpp"
#include "report/registry.hpp"
#include "report/result_tree.hpp"
#include "report/results/headline.hpp"
#include "report/results/run.hpp"
#include "report/run_result.hpp"
#include "report/terminal_plot.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/scenario_rules.hpp"
#include "sim/operations.hpp"
#include "sim/simulation.hpp"
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
  for (auto& flag : run_file_flags()) {
    flags.push_back(std::move(flag));
  }
  for (auto& flag : series_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back({.name = "plot",
                   .takes = Takes::kNothing,
                   .value = "tall",
                   .help = "Below the table, latencies and the run over time in characters; tall: "
                           "four lines each"});
  flags.push_back({.name = "watch",
                   .takes = Takes::kNothing,
                   .help =
                       "Run again whenever the scenario's file is saved, and show what changed; "
                       "Ctrl-C ends"});
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
  const std::string formats = fmt::format("{}", fmt::join(format_names(), "|"));
  for (auto& flag : manner_flags(formats)) {
    flags.push_back(std::move(flag));
  }
  return flags;
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
    if (const auto done = files_.open(*source_); !done) {
      return give_up(done.error(), manners_);
    }
    const auto result = simulate();
    if (!result) {
      return give_up(result.error(), manners_);
    }
    const ExitCode code = show(*result);
    watched_ = {.code = code, .interrupted = result->partial, .result = {}};
    if (arguments_.has("watch")) {
      watched_.result = report::result_tree(*result);
    }
    return code;
  }

  /// After run().
  [[nodiscard]] WatchedRun watched() && { return std::move(watched_); }

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
    if (arguments_.has("plot") && manners_.format != "table" && manners_.format != kQuiet) {
      return core::fail(core::Error{.field = "--plot",
                                    .message = "stands below the table, which is not shown",
                                    .where = {.file = "command line"},
                                    .hint = "--format table"});
    }
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

  /// Whether an output has pictures over simulated time.
  [[nodiscard]] bool shows_series() const {
    const auto printed = report::find_exporter(manners_.format);
    return arguments_.has("plot") || shows_histograms() || files_.shows_series() ||
           (printed && (*printed)->needs_series);
  }

  /// Whether the table has room for how latencies are spread.
  [[nodiscard]] bool shows_histograms() const {
    constexpr int kWide = 120;
    return manners_.format == "table" && manners_.out.is_terminal && manners_.out.columns >= kWide;
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
    controls.routing_audit = arguments_.has("routing-audit");
    controls.series_windows = series_windows_;
    if (!series_windows_ && shows_series()) {
      controls.series_windows = metrics::Timeline::kUsualWindows;
    }
    files_.listen(controls);
    auto result = api::simulate(resolved_, *source_, controls);
    display.finish();
    files_.close(result);
    return result;
  }

  ExitCode show(const report::RunResult& result) {
    core::Errors errors;
    report::TextStyle style = text_style(manners_.out);
    style.histograms = shows_histograms();
    files_.write(result, style, errors);
    const auto exporter = report::find_exporter(manners_.format);
    if (!OutputFile::has_standard_output()) {
      std::string text = rendered(arguments_, **exporter, result, style);
      if (arguments_.has("plot")) {
        const bool is_tall = arguments_.value("plot") == "tall";
        text += "\n" +
                report::terminal_plot(
                    result, style, is_tall ? report::PlotHeight::kTall : report::PlotHeight::kLine);
      }
      keep_errors(write_all(STDOUT_FILENO, text), errors);
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

  const SimulationVerb& verb_;
  Arguments arguments_;
  Manners manners_;
  std::string core_;
  std::int64_t threads_ = 1;
  std::optional<std::size_t> series_windows_;
  ProgressDisplay::Mode progress_ = ProgressDisplay::Mode::kNever;
  scenario::Resolved resolved_;
  std::unique_ptr<workload::Source> source_;
  RunFiles files_{arguments_, manners_, resolved_};
  WatchedRun watched_;
};

ExitCode watch_simulation(const SimulationVerb& verb, Arguments arguments, Manners manners) {
  const auto refuse = [&](std::string message, std::string hint) {
    return give_up({{.field = "--watch",
                     .message = std::move(message),
                     .where = {.file = "command line"},
                     .hint = std::move(hint)}},
                   manners);
  };
  if (arguments.positionals.size() != 1 || arguments.positionals.front() == "-") {
    return refuse("needs the file of a scenario to watch", "ridgeline run scenario.yaml --watch");
  }
  if (manners.format != "table") {
    return refuse("shows tables and what changes in them", "--format table");
  }
  const std::string file = arguments.positionals.front();
  return watch_runs(file, manners, [&](bool first) {
    Manners quiet = manners;
    if (!first) {
      quiet.format = kQuiet;
    }
    Arguments words = arguments;
    take_saved_result(words);
    Simulation simulation(verb, std::move(words), std::move(quiet));
    const ExitCode code = simulation.run();
    WatchedRun run = std::move(simulation).watched();
    run.code = code;
    return run;
  });
}

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
  if (arguments.has("watch")) {
    return watch_simulation(verb, std::move(arguments), std::move(manners));
  }
  take_saved_result(arguments);
  return Simulation(verb, std::move(arguments), std::move(manners)).run();
}

}  // namespace ridgeline::cli

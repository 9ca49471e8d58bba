#include "cli/commands/simulate.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/bench_words.hpp"
#include "cli/commands/run_files.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/commands/watch_runs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/faults.hpp"
#include "cli/output_file.hpp"
#include "cli/terminal.hpp"
#include "cli/verb_command.hpp"
#include "core/result.hpp"
#include "report/palette.hpp"
#include "report/terminal_plot.hpp"
#include "verbs/run.hpp"
#include "verbs/run/headline.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

/// The terminal as the host of a run, with all files that it writes.
class RunHost final : public TerminalHost {
 public:
  using TerminalHost::TerminalHost;

  core::Result<void> begin(const verbs::Run& run) override {
    if (run.resolved.run.percentiles == "exact") {
      set_memory_hint(
          "--percentiles sketch keeps a few megabytes, whatever the number of requests");
    }
    files_.emplace(arguments(), manners(), run.resolved);
    if (auto opened = files_->open(run); !opened) {
      return opened;
    }
    if (manners().verbose) {
      static_cast<void>(write_all(STDERR_FILENO, verbs::provenance_text(run.resolved)));
    }
    run.controls.routing_audit = arguments().has("routing-audit");
    if (shows_series()) {
      verbs::gather_series(run.controls);
    }
    return {};
  }

  void end(core::Result<verbs::RunResult>& result) override {
    finish_progress();
    files_->close(result);
    if (result) {
      report::TextStyle style = text_style(manners().out);
      style.histograms = shows_histograms();
      files_->write(*result, style, unwritten_);
      style_ = std::move(style);
    }
  }

  /// Shows the result behind its files.
  ExitCode show(const core::Result<verbs::Reply>& reply) {
    if (!reply) {
      return give_up(reply.error(), manners());
    }
    const verbs::RunResult& result = *reply->run;
    core::Errors errors = unwritten_;
    if (!OutputFile::has_standard_output()) {
      const auto exporter = verbs::find_exporter(manners().format);
      std::string text =
          exporter ? rendered(arguments(), **exporter, result, style_) : std::string();
      if (arguments().has("plot")) {
        const bool is_tall = arguments().value("plot") == "tall";
        text += "\n" + report::terminal_plot(
                           verbs::result_tree(result),
                           style_,
                           is_tall ? report::PlotHeight::kTall : report::PlotHeight::kLine);
      }
      keep_errors(write_all(STDOUT_FILENO, text), errors);
    }
    if (manners().format == "csv") {
      // The only format with results that has no place for them.
      for (const auto& warning : result.warnings) {
        warn(warning);
      }
    }
    if (!errors.empty()) {
      return give_up(errors, manners());
    }
    static_cast<void>(write_all(STDERR_FILENO, reply->notes));
    print_errors(reply->errors, manners().err);
    return static_cast<ExitCode>(reply->code);
  }

 private:
  /// Whether an output has pictures over simulated time.
  [[nodiscard]] bool shows_series() const {
    const auto printed = verbs::find_exporter(manners().format);
    return arguments().has("plot") || shows_histograms() || files_->shows_series() ||
           (printed && (*printed)->needs_series);
  }

  /// Whether the table has room for how latencies are spread.
  [[nodiscard]] bool shows_histograms() const {
    constexpr int kWide = 120;
    return manners().format == "table" && manners().out.is_terminal &&
           manners().out.columns >= kWide;
  }

  std::optional<RunFiles> files_;
  core::Errors unwritten_;
  report::TextStyle style_;
};

WatchedRun simulate(const verbs::Verb& verb, const Arguments& given, const Manners& manners) {
  Arguments arguments = given;
  take_saved_result(arguments);
  RunHost host(verb, arguments, manners);
  if (const auto open = host.open_progress(); !open) {
    return {.code = give_up(open.error(), manners)};
  }
  verbs::Request request = request_of(verb, arguments);
  if (arguments.has("plot") && manners.format != "table" && manners.format != kQuiet) {
    request.add(
        usage_error("--plot", "stands below the table, which is not shown", "--format table"));
  }
  const auto reply = verb.run(request, host);
  WatchedRun run{.code = host.show(reply)};
  if (reply) {
    run.interrupted = reply->run->partial;
    if (arguments.has("watch")) {
      run.result = verbs::result_tree(*reply->run);
    }
  }
  return run;
}

ExitCode watch_simulation(const verbs::Verb& verb,
                          const Arguments& arguments,
                          const Manners& manners) {
  if (arguments.positionals.size() != 1 || arguments.positionals.front() == "-") {
    return give_up({usage_error("--watch",
                                "needs the file of a scenario to watch",
                                "ridgeline run scenario.yaml --watch")},
                   manners);
  }
  if (manners.format != "table") {
    return give_up(
        {usage_error("--watch", "shows tables and what changes in them", "--format table")},
        manners);
  }
  return watch_runs(arguments.positionals.front(), manners, [&](bool first) {
    Manners quiet = manners;
    if (!first) {
      quiet.format = kQuiet;
    }
    return simulate(verb, arguments, quiet);
  });
}

/// `--compare`: no files but those of -o, in formats that have several results.
ExitCode compare(const verbs::Verb& verb, const Arguments& arguments, const Manners& manners) {
  constexpr std::array<std::string_view, 10> kOfOneRun = {"requests-out",
                                                          "agent-row-out",
                                                          "agent-records-out",
                                                          "steps-out",
                                                          "routing-out",
                                                          "routing-audit",
                                                          "cache-state-out",
                                                          "client-results",
                                                          "series",
                                                          "series-buckets"};
  verbs::Verb compared = verb;
  compared.formats = {"table", "json", "csv"};
  if (manners.format != kQuiet &&
      std::ranges::find(compared.formats, manners.format) == compared.formats.end()) {
    return give_up({bad_choice("format", manners.format, compared.formats)}, manners);
  }
  TerminalHost host(compared, arguments, manners);
  if (const auto open = host.open_files(); !open) {
    return give_up(open.error(), manners);
  }
  verbs::Request request = request_of(verb, arguments);
  for (const std::string_view flag : kOfOneRun) {
    if (arguments.has(flag)) {
      request.add(
          usage_error(fmt::format("--{}", flag), "is of one run, and --compare makes several", ""));
    }
  }
  return host.answer(verb.run(request, host));
}

}  // namespace

ExitCode simulate_command(const verbs::Verb& verb, Words words) {
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening_of(verb), words, arguments, manners)) {
    return *code;
  }
  if (arguments.has("compare")) {
    return compare(verb, arguments, manners);
  }
  return arguments.has("watch") ? watch_simulation(verb, arguments, manners)
                                : simulate(verb, arguments, manners).code;
}

}  // namespace ridgeline::cli

#include "cli/commands/run_files.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/bench_words.hpp"
#include "cli/commands/client_files.hpp"
#include "cli/commands/perfetto_words.hpp"
#include "cli/common.hpp"
#include "cli/output_file.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "document/gzip_writer.hpp"
#include "document/node_json.hpp"
#include "report/palette.hpp"
#include "scenario/scenario_rules.hpp"
#include "sim/cache_state.hpp"
#include "sim/logs/perfetto.hpp"
#include "sim/logs/request_log.hpp"
#include "sim/operations.hpp"
#include "verbs/run.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::cli {
namespace {

/// A table without its line of names.
std::string without_header(const std::string& text) {
  return text.substr(std::min(text.find('\n') + 1, text.size()));
}

std::vector<FlagSpec> file_flags() {
  using Takes = FlagSpec::Takes;
  std::vector<FlagSpec> flags;
  flags.push_back({.name = "requests-out",
                   .value = "FILE",
                   .help = "One record per request, as .csv, .jsonl or .ndjson"});
  flags.push_back(
      {.name = "agent-row-out",
       .value = "FILE.json",
       .help = "Of an agent replay, the row that the InferenceX scoreboard would show"});
  flags.push_back({.name = "agent-records-out",
                   .value = "FILE.jsonl",
                   .help = "Of an agent replay, its requests as agentx-harness records them"});
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
  flags.push_back(client_results_flag());
  flags.push_back(
      {.name = "steps-out",
       .value = "FILE.jsonl",
       .help = "One record per step or run of equal steps, with every operator's time; slow"});
  for (auto& flag : perfetto_flags()) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<FlagSpec> terminal_flags() {
  using Takes = FlagSpec::Takes;
  return {{.name = "plot",
           .takes = Takes::kNothing,
           .value = "tall",
           .help = "Below the table, latencies and the run over time in characters; tall: "
                   "four lines each"},
          {.name = "watch",
           .takes = Takes::kNothing,
           .help = "Run again whenever the scenario's file is saved, and show what changed; "
                   "Ctrl-C ends"},
          {.name = "no-header",
           .takes = Takes::kNothing,
           .help = "CSV without its line of names, for loops that append"}};
}

}  // namespace

std::vector<FlagSpec> run_flags(std::string_view group) {
  if (group == "saved") {
    return saved_result_flags();
  }
  return group == "files" ? file_flags() : terminal_flags();
}

std::string rendered(const Arguments& arguments,
                     const verbs::Exporter& exporter,
                     const verbs::RunResult& result,
                     const report::TextStyle& style) {
  std::string text = exporter.render(result, style);
  return exporter.name == "csv" && arguments.has("no-header") ? without_header(text) : text;
}

core::Result<void> RunFiles::open(const verbs::Run& run) {
  core::Errors errors;
  if (auto fits = check(); !fits) {
    return fits;
  }
  open_results(errors);
  open_request_log(run, errors);
  open_agent_log(run, errors);
  if (open_file("steps-out", steps_file_, errors)) {
    logs_.log_steps(steps_file_->stream());
  }
  if (wants_lookups()) {
    logs_.log_lookups(
        [](const std::string& line) { static_cast<void>(write_all(STDERR_FILENO, line)); });
  }
  if (open_file("routing-out", decisions_file_, errors)) {
    logs_.log_decisions(decisions_file_->stream());
  }
  if (open_file("cache-state-out", caches_file_, errors)) {
    logs_.keep_caches(resolved_);
  }
  open_trace(errors);
  client_targets_ = open_client_files(arguments_, errors);
  if (!client_targets_.empty()) {
    logs_.keep_clients();
  }
  logs_.listen(run.controls);
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

core::Result<void> RunFiles::check() const {
  const auto refuse = [&](std::string_view flag, std::string message, std::string hint) {
    return core::fail(usage_error(fmt::format("--{}", flag), std::move(message), std::move(hint)));
  };
  if ((arguments_.has("steps-out") || wants_lookups()) && sim::num_places(resolved_) > 1) {
    return refuse(wants_lookups() ? "debug" : "steps-out",
                  "the log would mix the steps of all instances",
                  "--instances 1");
  }
  for (const std::string_view flag : {"routing-out", "routing-audit"}) {
    if (arguments_.has(flag) && !resolved_.run.cluster.instances) {
      return refuse(flag, "there is no gateway to decide", "--instances 2");
    }
  }
  if (arguments_.has("cache-state-out")) {
    if (std::string why = scenario::why_no_cache_state(resolved_.scenario()); !why.empty()) {
      return refuse("cache-state-out", std::move(why), "leave it out");
    }
  }
  return {};
}

bool RunFiles::open_file(std::string_view flag,
                         std::optional<OutputFile>& place,
                         core::Errors& errors) const {
  const GivenFlag* const given = arguments_.find(flag);
  if (given == nullptr) {
    return false;
  }
  auto file = OutputFile::open(fmt::format("--{}", flag), given->value);
  keep_errors(file, errors);
  if (file) {
    place.emplace(std::move(*file));
  }
  return place.has_value();
}

void RunFiles::open_results(core::Errors& errors) {
  for (const auto& path : arguments_.values("output")) {
    if (OutputFile::is_direct(path) && manners_.format == kQuiet) {
      errors.push_back(OutputFile::writes_nothing("--output", path));
      continue;
    }
    const auto exporter = OutputFile::is_direct(path) ? verbs::find_exporter(manners_.format)
                                                      : verbs::exporter_for_path(path);
    auto file = OutputFile::open("--output", path);
    keep_errors(exporter, errors);
    keep_errors(file, errors);
    if (exporter && file) {
      targets_.push_back({.file = std::move(*file), .exporter = *exporter});
    }
  }
}

void RunFiles::open_request_log(const verbs::Run& run, core::Errors& errors) {
  const GivenFlag* const flag = arguments_.find("requests-out");
  if (flag == nullptr) {
    return;
  }
  const auto format = OutputFile::is_direct(flag->value)
                          ? core::Result<sim::RequestLogFormat>(sim::RequestLogFormat::kJsonLines)
                          : sim::request_log_format(flag->value);
  auto file = OutputFile::open("--requests-out", flag->value);
  keep_errors(format, errors);
  keep_errors(file, errors);
  if (!format || !file) {
    return;
  }
  log_file_.emplace(std::move(*file));
  logs_.log_requests(resolved_, run.source, *format, log_file_->stream());
}

void RunFiles::open_agent_log(const verbs::Run& run, core::Errors& errors) {
  for (const auto& [flag, file] : {std::pair("agent-row-out", &agent_row_file_),
                                   std::pair("agent-records-out", &agent_records_file_)}) {
    if (!arguments_.has(flag)) {
      continue;
    }
    if (!logs_.log_agents(run.source)) {
      errors.push_back({.field = fmt::format("--{}", flag),
                        .message = "there is no replay of agent traces",
                        .where = {.file = "command line"},
                        .hint = "--agent-scenario agentx --trace traces.jsonl"});
    } else {
      open_file(flag, *file, errors);
    }
  }
}

void RunFiles::open_trace(core::Errors& errors) {
  auto options = perfetto_options(arguments_);
  keep_errors(options, errors);
  if (open_file("perfetto-out", trace_file_, errors) && options) {
    options->is_fleet = resolved_.run.cluster.instances.has_value();
    logs_.keep_trace(*options);
  }
}

/// A client that states its sampling does not measure a server that samples otherwise.
void RunFiles::warn_of_sampling(core::Warnings& warnings) const {
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
void RunFiles::warn_of_prompts(core::Warnings& warnings) const {
  if (const auto& prompts = logs_.prompts(); prompts && prompts->with_prompt() > 0) {
    warnings.push_back(
        {.code = "W-lost-prompts",
         .message = fmt::format("{} of {} prompts share tokens with others, which '{}' does not "
                                "say: replayed, it has less in the prefix cache",
                                prompts->with_prompt(),
                                prompts->requests(),
                                log_file_->path()),
         .hint = "--requests-out FILE.jsonl"});
  }
}

/// A client that is stopped writes no result.
void RunFiles::warn_of_interruption(core::Warnings& warnings) const {
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

bool RunFiles::shows_series() const {
  return std::ranges::any_of(targets_,
                             [](const Target& target) { return target.exporter->needs_series; });
}

void RunFiles::close(core::Result<verbs::RunResult>& result) {
  logs_.end();
  if (!result) {
    return;
  }
  if (const auto& agents = logs_.agents()) {
    if (const auto row = agents->row(resolved_)) {
      agent_row_ = document::json_text(*row);
    }
    agent_records_ = agents->records_text();
  }
  warn_of_sampling(result->warnings);
  warn_of_prompts(result->warnings);
  if (result->partial) {
    warn_of_interruption(result->warnings);
  }
  if (const auto& trace = logs_.trace(); trace && trace->cut()) {
    result->warnings.push_back(perfetto_cut_warning(arguments_, *trace->cut()));
  }
}

void RunFiles::write(const verbs::RunResult& result,
                     report::TextStyle& style,
                     core::Errors& errors) {
  for (auto& [file, exporter] : targets_) {
    file.stream() << rendered(arguments_, *exporter, result, {});
    const auto written = file.commit();
    keep_errors(written, errors);
    if (written) {
      style.saved_to += (style.saved_to.empty() ? "" : ", ") + file.path();
    }
  }
  if (!client_targets_.empty() && !result.partial) {
    const auto seen = logs_.seen_by_clients(resolved_, result);
    write_client_files(client_targets_, seen.result, seen.results, errors);
  }
  if (caches_file_ && !result.partial) {
    caches_file_->stream() << sim::cache_state_text(logs_.caches()->state());
    keep_errors(caches_file_->commit(), errors);
  }
  if (agent_row_file_) {
    agent_row_file_->stream() << agent_row_;
  }
  if (agent_records_file_) {
    agent_records_file_->stream() << agent_records_;
  }
  write_trace(errors);
  for (auto* const file :
       {&log_file_, &steps_file_, &decisions_file_, &agent_row_file_, &agent_records_file_}) {
    if (*file) {
      keep_errors((*file)->commit(), errors);
    }
  }
}

void RunFiles::write_trace(core::Errors& errors) {
  const auto& trace = logs_.trace();
  if (!trace) {
    return;
  }
  if (trace_file_->path().ends_with(".gz")) {
    document::GzipWriter packer(trace_file_->stream());
    std::ostream packed(&packer);
    trace->write(packed);
    packer.finish();
  } else {
    trace->write(trace_file_->stream());
  }
  keep_errors(trace_file_->commit(), errors);
}

}  // namespace ridgeline::cli

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/client_files.hpp"
#include "cli/commands/observe_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "observe/earlier.hpp"
#include "observe/http_client.hpp"
#include "observe/http_workers.hpp"
#include "observe/observation.hpp"
#include "observe/probe.hpp"
#include "observe/prompts.hpp"
#include "observe/record.hpp"
#include "observe/round_trip.hpp"
#include "observe/run_clock.hpp"
#include "observe/summary.hpp"
#include "observe/target.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "verbs/clients/observed_results.hpp"
#include "verbs/clients/sent_workload.hpp"

namespace ridgeline::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// What of a scenario describes a server.
constexpr auto kDeploymentPaths = std::to_array<std::string_view>(
    {"model", "gpu", "recipe", "latency.", "engine.", "serving.", "request_path"});
constexpr auto kWorkloadPaths = std::to_array<std::string_view>({"workload.", "seed"});

/// The value of an option in a scenario's document, as a flag takes it.
std::optional<std::string> text_at(const document::Node& scenario, std::string_view path) {
  const document::Node* node = &scenario;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  if (node->is_string()) {
    return node->as_string();
  }
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  document::write(*node, json);
  return json.text();
}

/// The options below some paths that the user has stated.
Pairs stated_options(const scenario::LoadedScenario& loaded,
                     std::span<const std::string_view> below) {
  const document::Node node = scenario::to_node(loaded.scenario);
  Pairs pairs;
  for (const auto& option : scenario::options()) {
    const bool is_below = std::ranges::any_of(below, [&](std::string_view path) {
      return path.ends_with('.') ? option.path.starts_with(path) : option.path == path;
    });
    if (!is_below || loaded.of(option.path).origin == scenario::Provenance::Origin::kDefault) {
      continue;
    }
    if (auto text = text_at(node, option.path)) {
      pairs.emplace_back(option.path, std::move(*text));
    }
  }
  return pairs;
}

/// The record's file: a new one, or the end of one that a measurement goes on with.
class RecordFile {
 public:
  /// `whole_bytes`: of an earlier record, without a line that was cut short.
  core::Result<void> open(const std::string& path, std::optional<std::size_t> whole_bytes) {
    if (path.empty()) {
      return {};
    }
    if (OutputFile::is_direct(path)) {
      auto file = OutputFile::open("--output", path);
      if (!file) {
        return core::fail(file.error());
      }
      direct_.emplace(std::move(*file));
      return {};
    }
    std::error_code failure;
    if (!whole_bytes && std::filesystem::exists(path, failure)) {
      return core::fail(
          usage_error("--output",
                      fmt::format("'{}' exists, and a measurement is not made twice", path),
                      "another name; or --resume, if it is the record of this run's first part"));
    }
    if (whole_bytes) {
      std::filesystem::resize_file(path, *whole_bytes, failure);
    }
    file_.open(path, std::ios::binary | std::ios::app);
    if (failure || !file_) {
      return core::fail(usage_error("--output", fmt::format("'{}' cannot be written", path)));
    }
    path_ = path;
    return {};
  }

  [[nodiscard]] std::ostream* stream() {
    return direct_ ? &direct_->stream() : file_.is_open() ? &file_ : nullptr;
  }

  core::Result<void> close() {
    if (direct_) {
      return direct_->commit();
    }
    if (file_.is_open()) {
      file_.close();
      if (!file_) {
        return core::fail(core::Error{.field = "--output",
                                      .message = fmt::format("'{}' cannot be written", path_)});
      }
    }
    return {};
  }

 private:
  std::optional<OutputFile> direct_;
  std::ofstream file_;
  std::string path_;
};

/// One measurement, from words to files.
class Measurement {
 public:
  Measurement(Arguments arguments, Manners manners)
      : arguments_(std::move(arguments)), manners_(std::move(manners)) {}

  ExitCode run() {
    for (const auto stage : {&Measurement::read_words,
                             &Measurement::load_workload,
                             &Measurement::find_earlier,
                             &Measurement::connect}) {
      if (const auto done = (this->*stage)(); !done) {
        return give_up(done.error(), manners_);
      }
    }
    const InterruptGuard guard;
    look_at_prompts();
    RecordFile file;
    const auto whole =
        earlier_ ? std::optional(earlier_->whole_bytes) : std::optional<std::size_t>();
    if (const auto opened = file.open(words_->record, whole); !opened) {
      return give_up(opened.error(), manners_);
    }
    return measure(file);
  }

 private:
  core::Result<void> read_words() {
    auto words = read_observe_words(arguments_);
    core::Errors errors;
    keep_errors(words, errors);
    const auto progress = progress_mode(arguments_, manners_.err);
    keep_errors(progress, errors);
    if (!errors.empty()) {
      return core::fail(std::move(errors));
    }
    words_.emplace(std::move(*words));
    progress_ = *progress;
    return {};
  }

  core::Result<void> load_workload() {
    auto loaded = load(arguments_, scenario::Purpose::kSend);
    if (!loaded) {
      return core::fail(loaded.error());
    }
    loaded_.emplace(std::move(*loaded));
    auto sent = verbs::open_sent_workload(
        loaded_->scenario.workload, loaded_->scenario.run.seed, words_->options.max_rate);
    if (!sent) {
      return core::fail(std::move(sent).error());
    }
    sent_ = *std::move(sent);
    if (sent_.source->prompts_hold_answers() &&
        words_->options.prompts.form == observe::PromptForm::kTokens) {
      return core::fail(
          usage_error("--prompt",
                      "the workload's prompts quote answers, whose token ids servers do not tell",
                      "--prompt words"));
    }
    return {};
  }

  core::Result<void> find_earlier() {
    if (!words_->resume) {
      return {};
    }
    auto earlier = observe::read_earlier(words_->record);
    if (!earlier) {
      return core::fail(earlier.error());
    }
    if (earlier->workload_digest != sent_.digest) {
      return core::fail(
          usage_error("--resume",
                      fmt::format("'{}' is of the workload {}, expected {}, as these flags say",
                                  words_->record,
                                  earlier->workload_digest,
                                  sent_.digest),
                      "the flags and the seed of the first part"));
    }
    if (auto twin = sent_.workload.open(); twin) {
      earlier->forget_unfinished_sessions(**twin);
    }
    earlier_.emplace(std::move(*earlier));
    auto& prompts = words_->options.prompts;
    prompts.endpoint = earlier_->endpoint;
    prompts.form = earlier_->form;
    prompts.overhead = earlier_->overhead;
    prompts.natural_output = earlier_->natural_output;
    words_->salt = earlier_->salt;
    return {};
  }

  core::Result<void> connect() {
    observe::HttpClient::Options options{.target = words_->target,
                                         .api_key = words_->api_key,
                                         .fresh_connections = words_->fresh_connections};
    if (words_->target.socket.empty()) {
      const auto addresses = observe::resolve_host(words_->target);
      if (!addresses) {
        return core::fail(addresses.error());
      }
      const auto address =
          observe::choose_address(words_->target, *addresses, words_->allow_remote);
      if (!address) {
        return core::fail(address.error());
      }
      options.address = address->text();
      address_ = *address;
    }
    auto client = observe::HttpClient::make(options, clock_);
    if (!client) {
      return core::fail(client.error());
    }
    client_ = std::move(*client);
    if (const std::int64_t count = words_->options.workers; count > 1) {
      auto workers = observe::HttpWorkers::make(options, clock_, count);
      if (!workers) {
        return core::fail(workers.error());
      }
      workers_ = std::move(*workers);
    }
    auto server = observe::look_at_server(*client_, clock_, words_->target);
    if (!server) {
      return core::fail(server.error());
    }
    server_ = std::move(*server);
    auto& prompts = words_->options.prompts;
    prompts.model = words_->served_model;
    if (prompts.model.empty()) {
      if (server_.models.empty()) {
        return core::fail(usage_error(
            words_->target.text, "/v1/models names no model", "--served-model-name NAME"));
      }
      prompts.model = server_.models.front();
    }
    prompts.salt = words_->salt.value_or(static_cast<std::uint64_t>(observe::RunClock::unix_ns()));
    return {};
  }

  /// Finds how many tokens the server adds to the words of a prompt.
  void look_at_prompts() {
    auto& prompts = words_->options.prompts;
    if (earlier_ || prompts.form == observe::PromptForm::kTokens) {
      return;
    }
    const auto counts =
        observe::count_prompts(*client_, clock_, prompts, sent_.source->prompts_hold_answers());
    prompts.overhead = counts.overhead;
    if (!counts.tokens_per_word) {
      warn("W-prompt-lengths",
           fmt::format("the server does not say how many tokens a prompt has ({}): prompts have as "
                       "many words as the workload has tokens",
                       counts.problem));
    } else if (*counts.tokens_per_word != 1.0) {
      warn("W-prompt-lengths",
           fmt::format("the server's tokenizer makes {:.4g} tokens of a word, expected 1: prompts "
                       "are longer or shorter than the workload's by that",
                       *counts.tokens_per_word),
           prompts.endpoint == observe::Endpoint::kCompletions ? "--prompt tokens" : "");
      prompts.overhead = {};
    }
  }

  /// Network round trip, without the server's own work; nothing over a UNIX socket.
  [[nodiscard]] std::optional<core::Duration> round_trip() const {
    return address_ ? observe::measure_round_trip(clock_, *address_, words_->target.port)
                    : std::nullopt;
  }

  observe::RecordHead head() {
    const auto& prompts = words_->options.prompts;
    Pairs deployment = stated_options(*loaded_, kDeploymentPaths);
    return {.target = words_->target.text,
            .started = observe::utc_text(observe::RunClock::unix_ns()),
            .server_version = server_.version,
            .models = server_.models,
            .metrics = server_.metrics,
            .model = prompts.model,
            .deployment = std::move(deployment),
            .workload_digest = sent_.digest,
            .workload = stated_options(*loaded_, kWorkloadPaths),
            .endpoint = prompts.endpoint,
            .form = prompts.form,
            .overhead = prompts.overhead,
            .salt = prompts.salt,
            .natural_output = prompts.natural_output,
            .client_version = std::string(core::version()),
            .round_trip = round_trip(),
            .is_loopback = !address_ || observe::is_loopback(*address_)};
  }

  ExitCode measure(RecordFile& file) {
    ProgressDisplay display(progress_, manners_.err);
    auto& options = words_->options;
    options.earlier = earlier_ ? &*earlier_ : nullptr;
    options.interrupt = &InterruptGuard::flag();
    options.progress = [&display](const observe::ObserveProgress& progress) {
      display.update(progress);
    };
    if (server_.metrics.empty()) {
      options.scrape_every = {};
    }
    core::Errors errors;
    std::vector<ClientFile> client_files = open_client_files(arguments_, errors);
    if (!errors.empty()) {
      return give_up(errors, manners_);
    }
    verbs::ObservedResults observed;
    if (!client_files.empty()) {
      options.on_row = [&observed](const observe::Row& row) { observed.add(row); };
    }
    const observe::RecordHead head = this->head();
    if (std::ostream* const record = file.stream(); record != nullptr && !earlier_) {
      *record << observe::head_line(head) << std::flush;
    }
    observe::HttpSender& sender =
        workers_ ? *workers_ : static_cast<observe::HttpSender&>(*client_);
    observe::Observation observation(options, *sent_.source, sender, clock_, file.stream());
    observe::RecordTail tail = observation.run();
    workers_.reset();  // What they have not finished is over.
    display.finish();
    if (!tail.partial) {
      tail.round_trip = round_trip();
      tail.metrics = server_.metrics.empty() ? observe::ServerMetrics()
                                             : observe::look_at_metrics(*client_, clock_);
    }
    if (std::ostream* const record = file.stream()) {
      *record << observe::tail_line(tail);
    }
    keep_errors(file.close(), errors);
    if (!tail.partial) {
      observed.results().put_in_order();
      write_client_files(
          client_files, observed.result(loaded_->scenario, head), observed.results(), errors);
    } else if (!client_files.empty()) {
      warn("W-partial", "the measurement ended early: no file of --client-results is written");
    }
    if (!errors.empty()) {
      return give_up(errors, manners_);
    }
    if (!sent_.source->errors().empty()) {
      return give_up(sent_.source->errors(), manners_);
    }
    return show({.head = head,
                 .tail = tail,
                 .tally = observation.tally(),
                 .warnings = warnings_of(observation, tail)});
  }

  core::Warnings warnings_of(const observe::Observation& observation,
                             const observe::RecordTail& tail) {
    for (auto& warning : sent_.source->warnings()) {
      warnings_.push_back(warning);
    }
    const observe::Tally& tally = observation.tally();
    const std::int64_t answered = tally.done() - tally.failed();
    if (observation.too_short() > 0) {
      warn("W-prompt-lengths",
           fmt::format("{} prompts are shorter than what the server adds to each: they have one "
                       "word",
                       observation.too_short()));
    }
    if (tally.other_prompts() > 0) {
      warn("W-prompt-lengths",
           fmt::format("of {} answered prompts, {} had other lengths than the workload's; {:.4g} "
                       "tokens for each of its tokens",
                       answered,
                       tally.other_prompts(),
                       tally.prompt_ratio().value_or(1.0)),
           "--prompt tokens");
    }
    if (tally.other_outputs() > 0 && !words_->options.prompts.natural_output) {
      warn("W-output-lengths",
           fmt::format("{} of {} answers had other lengths than were asked for: the server does "
                       "not heed min_tokens and ignore_eos",
                       tally.other_outputs(),
                       answered));
    }
    if (tail.held > 0) {
      warn("W-held-back",
           fmt::format("{} requests were sent late, as the client has a limit: at most {} in "
                       "flight, {} in a second",
                       tail.held,
                       words_->options.max_in_flight,
                       words_->options.max_rate),
           "--max-in-flight, --max-rate");
    }
    if (observation.taken_over() > 0) {
      warn("W-resumed",
           fmt::format("{} requests have their answers from the first part; the figures here are "
                       "of the second",
                       observation.taken_over()));
    }
    const auto carried = sent_.source->carried();
    if (carried.with_adapter > 0 || carried.with_media > 0) {
      warn("W-not-sent",
           fmt::format("{} requests name an adapter and {} hold media: they were sent as text to "
                       "the model itself",
                       carried.with_adapter,
                       carried.with_media));
    }
    return warnings_;
  }

  void warn(std::string code, std::string message, std::string hint = {}) {
    warnings_.push_back(
        {.code = std::move(code), .message = std::move(message), .hint = std::move(hint)});
  }

  ExitCode show(const observe::ObserveResult& result) {
    for (const auto& warning : result.warnings) {
      static_cast<void>(write_all(STDERR_FILENO, render(warning, manners_.err)));
    }
    const ExitCode printed = put_out(
        manners_.format == "json" ? observe::summary_json(result) : observe::summary_table(result),
        manners_);
    if (printed != ExitCode::kOk) {
      return printed;
    }
    if (result.tail.ended_by == observe::kInterrupted) {
      return InterruptGuard::exit_code();
    }
    const bool none_answered = result.tally.done() == result.tally.failed();
    return result.tail.partial || !result.tail.unsound.empty() || none_answered
               ? ExitCode::kThreshold
               : ExitCode::kOk;
  }

  Arguments arguments_;
  Manners manners_;
  ProgressDisplay::Mode progress_ = ProgressDisplay::Mode::kNever;
  std::optional<ObserveWords> words_;
  std::optional<scenario::LoadedScenario> loaded_;
  verbs::SentWorkload sent_;
  std::optional<observe::Earlier> earlier_;
  std::optional<observe::Address> address_;  ///< Nothing: a UNIX socket.
  observe::RunClock clock_;
  std::unique_ptr<observe::HttpClient> client_;
  std::unique_ptr<observe::HttpWorkers> workers_;
  observe::ServerFacts server_;
  core::Warnings warnings_;
};

Opening observe_opening() {
  Opening opening{
      .usage = "observe URL [scenario.yaml] [flags]",
      .about =
          "Sends a workload to a running OpenAI-compatible server and measures what comes back.\n"
          "The workload is that of `run` or `replay` with the same flags and seed. The server\n"
          "must be on this machine, unless --allow-remote is given. Flags of the model, the GPU\n"
          "and the engine say what serves there: they go into the record. Exit code 99 where it\n"
          "ended early, or the client was too slow for its times to be trusted.",
      .flags = scenario_flags(ScenarioPart::kWhole),
      .formats = {"table", "json"}};
  std::vector<FlagSpec> own = observe_flags();
  std::erase_if(opening.flags, [&](const FlagSpec& flag) {
    return std::ranges::find(own, flag.name, &FlagSpec::name) != own.end();
  });
  for (auto& flag : own) {
    opening.flags.push_back(std::move(flag));
  }
  opening.flags.push_back(client_results_flag());
  opening.flags.push_back(progress_flag());
  return with_manner_flags(std::move(opening), "table|json");
}

}  // namespace

ExitCode observe_command(Words words) {
  const Opening opening = observe_opening();
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  return Measurement(std::move(arguments), std::move(manners)).run();
}

}  // namespace ridgeline::cli

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/client_files.hpp"
#include "cli/common.hpp"
#include "cli/output_file.hpp"
#include "cluster/decision.hpp"
#include "core/result.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/listeners.hpp"
#include "metrics/request_metrics.hpp"
#include "report/palette.hpp"
#include "scenario/resolve.hpp"
#include "sim/cache_state.hpp"
#include "sim/logs/agent_log.hpp"
#include "sim/logs/perfetto.hpp"
#include "sim/logs/request_log.hpp"
#include "sim/simulation.hpp"
#include "sim/step_watch.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/run_result.hpp"
#include "workload/source.hpp"

namespace ridgeline::cli {

/// The flags of `run` and `replay` that the command line reads itself: "files" that it names beside
/// -o, "terminal", and those of clients that have their result "saved".
[[nodiscard]] std::vector<FlagSpec> run_flags(std::string_view group);

/// A result in one of its formats, as the flags have it.
[[nodiscard]] std::string rendered(const Arguments& arguments,
                                   const verbs::Exporter& exporter,
                                   const verbs::RunResult& result,
                                   const report::TextStyle& style);

/// Counts prompts that say which tokens they hold.
class PromptCount final : public metrics::Listener {
 public:
  void on_arrival(const domain::Request& request) override {
    ++requests_;
    with_prompt_ += request.prompt.empty() ? 0 : 1;
  }
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    static_cast<void>(record);
    static_cast<void>(metrics);
  }
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t with_prompt() const { return with_prompt_; }

 private:
  std::int64_t requests_ = 0;
  std::int64_t with_prompt_ = 0;
};

/// Every file that a run writes: opened before it, fed while it goes on, complete after it.
class RunFiles {
 public:
  /// What is handed over outlives it.
  RunFiles(const Arguments& arguments, const Manners& manners, const scenario::Resolved& resolved)
      : arguments_(arguments), manners_(manners), resolved_(resolved) {}

  core::Result<void> open(const workload::Source& source);
  /// Whether a file has pictures over simulated time.
  [[nodiscard]] bool shows_series() const;
  /// Lets the run feed the files.
  void listen(sim::RunControls& controls);
  /// After the run: no file is fed any more. Adds what readers of the files should know.
  void close(core::Result<verbs::RunResult>& result);
  /// Completes the files. `style` gets the names of those with the result.
  void write(const verbs::RunResult& result, report::TextStyle& style, core::Errors& errors);

 private:
  /// A file that gets the result.
  struct Target {
    OutputFile file;
    const verbs::Exporter* exporter;
  };

  /// What the flags ask of the scenario.
  [[nodiscard]] core::Result<void> check() const;
  void open_results(core::Errors& errors);
  void open_request_log(const workload::Source& source, core::Errors& errors);
  void open_agent_log(const workload::Source& source, core::Errors& errors);
  void open_trace(core::Errors& errors);
  /// Opens the file of a flag; false where it is not given or cannot be opened.
  bool open_file(std::string_view flag,
                 std::optional<OutputFile>& place,
                 core::Errors& errors) const;
  void write_client_files(const verbs::RunResult& result, core::Errors& errors);
  void write_trace(core::Errors& errors);
  void warn_of_sampling(core::Warnings& warnings) const;
  void warn_of_prompts(core::Warnings& warnings) const;
  void warn_of_interruption(core::Warnings& warnings) const;

  const Arguments& arguments_;
  const Manners& manners_;
  const scenario::Resolved& resolved_;
  metrics::Listeners listeners_;
  std::vector<Target> targets_;
  std::optional<OutputFile> log_file_;
  std::unique_ptr<sim::RequestLog> log_;
  std::optional<PromptCount> prompts_;
  std::optional<OutputFile> steps_file_;
  std::unique_ptr<sim::StepListener> steps_;
  std::optional<OutputFile> agent_row_file_;
  std::optional<OutputFile> agent_records_file_;
  std::optional<sim::AgentLog> agents_;
  std::string agent_row_;
  std::string agent_records_;
  std::optional<OutputFile> trace_file_;
  std::optional<sim::PerfettoTrace> trace_;
  std::optional<OutputFile> caches_file_;
  std::optional<sim::CacheStateKeeper> caches_;
  std::optional<OutputFile> decisions_file_;
  std::unique_ptr<cluster::DecisionSink> decisions_;
  std::vector<ClientFile> client_targets_;
  verbs::ClientResults client_results_;
};

}  // namespace ridgeline::cli

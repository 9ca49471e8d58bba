#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/client_files.hpp"
#include "cli/common.hpp"
#include "cli/output_file.hpp"
#include "core/result.hpp"
#include "report/palette.hpp"
#include "scenario/resolve.hpp"
#include "verbs/run.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/run_logs.hpp"

namespace ridgeline::cli {

/// The flags of `run` and `replay` that the command line reads itself: "files" that it names beside
/// -o, "terminal", and those of clients that have their result "saved".
[[nodiscard]] std::vector<FlagSpec> run_flags(std::string_view group);

/// A result in one of its formats, as the flags have it.
[[nodiscard]] std::string rendered(const Arguments& arguments,
                                   const verbs::Exporter& exporter,
                                   const verbs::RunResult& result,
                                   const report::TextStyle& style);

/// Every file that a run writes: opened before it, fed while it goes on, complete after it.
class RunFiles {
 public:
  /// What is handed over outlives it.
  RunFiles(const Arguments& arguments, const Manners& manners, const scenario::Resolved& resolved)
      : arguments_(arguments), manners_(manners), resolved_(resolved) {}

  /// And lets the run feed them.
  core::Result<void> open(const verbs::Run& run);
  /// Whether a file has pictures over simulated time.
  [[nodiscard]] bool shows_series() const;
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
  void open_request_log(const verbs::Run& run, core::Errors& errors);
  void open_agent_log(const verbs::Run& run, core::Errors& errors);
  void open_trace(core::Errors& errors);
  [[nodiscard]] bool wants_lookups() const { return arguments_.value("verbose") == "lookups"; }
  /// Opens the file of a flag; false where it is not given or cannot be opened.
  bool open_file(std::string_view flag,
                 std::optional<OutputFile>& place,
                 core::Errors& errors) const;
  void write_trace(core::Errors& errors);
  void warn_of_sampling(core::Warnings& warnings) const;
  void warn_of_prompts(core::Warnings& warnings) const;
  void warn_of_interruption(core::Warnings& warnings) const;

  const Arguments& arguments_;
  const Manners& manners_;
  const scenario::Resolved& resolved_;
  std::vector<Target> targets_;
  std::optional<OutputFile> log_file_;
  std::optional<OutputFile> steps_file_;
  std::optional<OutputFile> agent_row_file_;
  std::optional<OutputFile> agent_records_file_;
  std::string agent_row_;
  std::string agent_records_;
  std::optional<OutputFile> trace_file_;
  std::optional<OutputFile> caches_file_;
  std::optional<OutputFile> decisions_file_;
  std::vector<ClientFile> client_targets_;
  verbs::RunLogs logs_;  ///< Behind the files: what it writes at its end goes into them.
};

}  // namespace ridgeline::cli

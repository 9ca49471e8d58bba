#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

/// The flags of a verb's own keys, and what else it says of itself.
[[nodiscard]] Opening opening_of(const verbs::Verb& verb);

/// The words of a command line as the verb's request.
[[nodiscard]] verbs::Request request_of(const verbs::Verb& verb, const Arguments& arguments);

/// The terminal as a verb's host, with the files that flags name.
class TerminalHost : public verbs::Host {
 public:
  /// What is handed over outlives it.
  TerminalHost(const verbs::Verb& verb,
               const Arguments& arguments,
               const Manners& manners,
               Words words = {})
      : verb_(verb), arguments_(arguments), manners_(manners), words_(words) {}

  /// Reads --progress.
  [[nodiscard]] core::Result<void> open_progress();
  /// And opens the files of answers and artefacts, before any work.
  [[nodiscard]] core::Result<void> open_files();
  /// Shows an answer and completes the files; the exit code.
  [[nodiscard]] ExitCode answer(const core::Result<verbs::Reply>& reply);

  void warn(const core::Warning& warning) override;
  [[nodiscard]] std::optional<int> hand_over(
      const std::vector<evidence::validate::Evidence>& records) override;
  [[nodiscard]] bool wants(std::string_view format) const override;
  [[nodiscard]] core::Result<std::ostream*> open(std::string_view key) override;
  void progress(const sim::Progress& at) override { display_->update(at); }
  void progress(const verbs::Stage& at) override { display_->update(at); }
  void progress(std::int64_t requests, std::optional<double> share) override {
    display_->update(requests, share);
  }
  [[nodiscard]] std::unique_ptr<Watch> watch(Work work) override;
  [[nodiscard]] const std::atomic<bool>& stop() const override;
  [[nodiscard]] int stopped() const override;

 protected:
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  [[nodiscard]] const Manners& manners() const { return manners_; }
  void finish_progress() { display_->finish(); }

 private:
  /// A file that gets an artefact.
  struct Artefact {
    OutputFile file;
    std::string name;
  };

  void open_artefact(const verbs::Parameter& parameter, core::Errors& errors);
  [[nodiscard]] core::Result<void> complete_files(const verbs::Reply& reply);

  const verbs::Verb& verb_;
  const Arguments& arguments_;
  Manners manners_;
  Words words_;
  std::optional<ProgressDisplay> display_;
  std::optional<VerbOutputs> outputs_;
  std::vector<Artefact> artefacts_;
  std::vector<OutputFile> opened_;
};

/// A verb from its words to its exit code.
[[nodiscard]] ExitCode verb_command(const verbs::Verb& verb, Words words);

}  // namespace ridgeline::cli

#include "evidence/calibrate/calibrate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/laboratory.hpp"
#include "cli/measured_files.hpp"
#include "cli/output_file.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/server_file.hpp"
#include "evidence/validate/validate.hpp"
#include "report/results/calibration.hpp"

namespace ridgeline::cli {
namespace {

/// A scenario is read as YAML or JSON by its name, so no other name is written.
core::Result<void> check_scenario_name(const std::string& path) {
  const auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
  if (path == "-" || path.starts_with("/dev/") || ends(".yaml") || ends(".yml") || ends(".json")) {
    return {};
  }
  return core::fail(core::Error{
      .field = "--output",
      .message = fmt::format(
          "'{}' is a scenario, expected a name that ends in .yaml, .yml or .json", path),
      .where = {.file = "command line"}});
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return names;
}

/// The files that --output names, open for writing.
core::Result<std::vector<OutputFile>> server_files(const Arguments& arguments) {
  std::vector<OutputFile> files;
  for (const auto& path : arguments.values("output")) {
    if (const auto known = check_scenario_name(path); !known) {
      return core::fail(known.error());
    }
    auto file = OutputFile::open("--output", path);
    if (!file) {
      return core::fail(file.error());
    }
    files.push_back(std::move(*file));
  }
  return files;
}

/// Constants of a server are not fitted to what a client measured of itself.
core::Errors unsound_records(const MeasuredJob& job) {
  core::Errors errors;
  for (const auto& record : job.evidence) {
    if (!record.unsound.empty()) {
      errors.push_back({.message = fmt::format("the measurement is unsound: {}", record.unsound),
                        .where = {.file = record.file},
                        .hint = "measure again, or --allow-unsound"});
    }
  }
  return errors;
}

Opening calibrate_opening() {
  Opening opening{
      .usage = "calibrate FILE... -o my-server.yaml [flags]",
      .about =
          "Fits the few times of a server that differ from machine to machine (host, network, API\n"
          "server) to measured runs, and writes them as a scenario that other verbs take. The\n"
          "kernels are left alone. Constants that the measurements do not determine are not\n"
          "fitted; to ask for such a one by name is an error. Exit code 99, and no file, when the\n"
          "errors that are left are the kernels': a wrong GPU, precision or flag.",
      .flags = scenario_flags(ScenarioPart::kServer),
      .formats = {"table", "json"}};
  opening.flags.push_back({.name = "fit",
                           .value = "LIST",
                           .help = "Constants to fit, by name [all that the measurements tell]"});
  for (auto& flag : measured_flags()) {
    opening.flags.push_back(std::move(flag));
  }
  opening.flags.push_back(
      {.name = "allow-unsound",
       .takes = FlagSpec::Takes::kNothing,
       .help = "Takes measurements, too, whose client was too slow or which were cut off"});
  opening.flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json")) {
    opening.flags.push_back(std::move(flag));
  }
  return opening;
}

}  // namespace

ExitCode calibrate_command(Words words) {
  const Opening opening = calibrate_opening();
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto job = read_measured(arguments);
  if (!job) {
    return give_up(job.error(), manners);
  }
  if (needs_laboratory(job->evidence)) {
    return run_laboratory("calibrate", words);
  }
  if (const auto errors = unsound_records(*job);
      !errors.empty() && !arguments.has("allow-unsound")) {
    return give_up(errors, manners);
  }
  auto files = server_files(arguments);
  if (!files) {
    return give_up(files.error(), manners);
  }
  warn_of_files(job->evidence, manners);
  evidence::calibrate::CalibrateOptions options;
  options.wanted = names_in(arguments.value("fit"));
  options.histories = job->options.histories;
  options.threads = job->options.threads;
  options.overrides = job->options.overrides;
  const auto calibration = evidence::calibrate::calibrate(job->evidence, options);
  if (!calibration) {
    return give_up(calibration.error(), manners);
  }
  const auto alternatives =
      evidence::calibrate::find_alternatives(job->evidence, options, *calibration);
  const std::string text = manners.format == "json"
                               ? report::calibration_json(*calibration, alternatives)
                               : report::calibration_table(*calibration);
  for (const auto& warning : report::calibration_warnings(*calibration)) {
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  }
  if (!calibration->kernels_match()) {
    // Constants of another server's are not written.
    static_cast<void>(put_out(text, manners));
    static_cast<void>(give_up({report::calibration_mismatch(*calibration, alternatives)}, manners));
    return ExitCode::kThreshold;
  }
  if (calibration->left() > evidence::calibrate::kLeftInDoubt) {
    const core::Warning warning = report::calibration_doubt(*calibration, alternatives);
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  }
  for (auto& file : *files) {
    file.stream() << (file.path().ends_with(".json")
                          ? evidence::calibrate::server_json(*calibration)
                          : evidence::calibrate::server_yaml(*calibration));
    if (const auto committed = file.commit(); !committed) {
      return give_up(committed.error(), manners);
    }
  }
  return put_out(text, manners);
}

}  // namespace ridgeline::cli

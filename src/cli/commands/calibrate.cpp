#include "sim/calibrate/calibrate.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/measured_files.hpp"
#include "cli/output_file.hpp"
#include "core/json_writer.hpp"
#include "core/result.hpp"
#include "sim/validate/validate.hpp"

namespace ridgeline::cli {
namespace {

using sim::calibrate::Calibration;
using sim::calibrate::FitErrors;

/// What stands for a figure that needs several records.
constexpr const char* kOneRecord = "\u2013: one record";

std::string calibration_table(const Calibration& calibration) {
  std::string text = fmt::format(
      "{:<22} {:>12} {:>12}  {}\n", "constant", "before, us", "fitted, us", "90 % interval");
  for (const auto& fitted : calibration.fitted) {
    text += fmt::format("{:<22} {:>12.2f} {:>12.2f}  {}{}\n",
                        fitted.parameter.name,
                        fitted.before,
                        fitted.value,
                        fitted.lowest && fitted.highest
                            ? fmt::format("{:.2f} to {:.2f}", *fitted.lowest, *fitted.highest)
                            : kOneRecord,
                        fitted.at_bound ? "  at its bound" : "");
  }
  for (const auto& left : calibration.left_out) {
    text += fmt::format("{:<22} not fitted: {}\n", left.name, left.reason);
  }
  text += fmt::format("\n{:<24} {:>8} {:>8}\n", "absolute error, %", "median", "mean");
  const auto line = [&](std::string_view name, const FitErrors& errors) {
    text += fmt::format("{:<24} {:>8.2f} {:>8.2f}\n", name, errors.median, errors.mean);
  };
  line("before", calibration.before);
  line("after", calibration.after);
  if (calibration.cross_validated) {
    line("on records left out", *calibration.cross_validated);
    text += "\n";
  } else {
    text += fmt::format("{:<24} {:>8}\n", "on records left out", kOneRecord);
  }
  for (const auto& band : calibration.bands) {
    text += fmt::format(
        "nine in ten {} within {:.1f} % ({} figures)\n", band.figure, band.percent, band.n);
  }
  return text;
}

void write_errors(core::JsonWriter& json, std::string_view name, const FitErrors& errors) {
  json.key(name).begin_object();
  json.member("median_abs_pct", errors.median);
  json.member("mean_abs_pct", errors.mean);
  json.end_object();
}

void write_or_null(core::JsonWriter& json, std::string_view name, std::optional<double> value) {
  json.key(name);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

std::string calibration_json(const Calibration& calibration) {
  core::JsonWriter json;
  json.begin_object();
  json.member("server", calibration.server);
  json.member("records", calibration.records);
  json.member("figures", calibration.figures);
  json.key("fitted").begin_array();
  for (const auto& fitted : calibration.fitted) {
    json.begin_object();
    json.member("name", fitted.parameter.name);
    json.member("unit", "us");
    json.member("before", fitted.before);
    json.member("value", fitted.value);
    write_or_null(json, "lowest", fitted.lowest);
    write_or_null(json, "highest", fitted.highest);
    json.member("at_bound", fitted.at_bound);
    json.end_object();
  }
  json.end_array();
  json.key("left_out").begin_array();
  for (const auto& left : calibration.left_out) {
    json.begin_object();
    json.member("name", left.name);
    json.member("reason", left.reason);
    json.end_object();
  }
  json.end_array();
  write_errors(json, "before", calibration.before);
  write_errors(json, "after", calibration.after);
  if (calibration.cross_validated) {
    write_errors(json, "cross_validated", *calibration.cross_validated);
  } else {
    json.key("cross_validated").null();
  }
  json.key("bands").begin_array();
  for (const auto& band : calibration.bands) {
    json.begin_object();
    json.member("metric", band.figure);
    json.member("within_pct", band.percent);
    json.member("n", band.n);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
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

}  // namespace

ExitCode calibrate_command(Words words) {
  Opening opening{
      .usage = "calibrate FILE... -o my-server.yaml [flags]",
      .about =
          "Fits the few times of a server that differ from machine to machine (host, network, API\n"
          "server) to measured runs, and writes them as a scenario that other verbs take. The\n"
          "kernels are left alone. Constants that the measurements do not tell are not fitted; "
          "one\n"
          "that is asked for by name and is not told is an error. Exit code 99, and no file, when "
          "the\n"
          "errors that are left are the kernels': a wrong GPU, precision or flag.",
      .flags = scenario_flags(ScenarioPart::kServer),
      .formats = {"table", "json"}};
  opening.flags.push_back({.name = "fit",
                           .value = "LIST",
                           .help = "Constants to fit, by name [all that the measurements tell]"});
  for (auto& flag : measured_flags()) {
    opening.flags.push_back(std::move(flag));
  }
  opening.flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json")) {
    opening.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto job = read_measured(arguments);
  if (!job) {
    return give_up(job.error(), manners);
  }
  std::vector<OutputFile> files;
  for (const auto& path : arguments.values("output")) {
    auto file = OutputFile::open("--output", path);
    if (!file) {
      return give_up(file.error(), manners);
    }
    files.push_back(std::move(*file));
  }
  warn_of_files(job->evidence, manners);
  sim::calibrate::CalibrateOptions options;
  options.wanted = names_in(arguments.value("fit"));
  options.histories = job->options.histories;
  options.threads = job->options.threads;
  options.overrides = job->options.overrides;
  const auto calibration = sim::calibrate::calibrate(job->evidence, options);
  if (!calibration) {
    return give_up(calibration.error(), manners);
  }
  const std::string text =
      manners.format == "json" ? calibration_json(*calibration) : calibration_table(*calibration);
  if (!calibration->mismatch.empty()) {
    // Constants of another server's are not written.
    static_cast<void>(put_out(text, manners));
    static_cast<void>(give_up(
        {{.message = calibration->mismatch, .hint = "validate shows the errors of each record"}},
        manners));
    return ExitCode::kThreshold;
  }
  for (auto& file : files) {
    file.stream() << sim::calibrate::serving_yaml(*calibration);
    if (const auto committed = file.commit(); !committed) {
      return give_up(committed.error(), manners);
    }
  }
  return put_out(text, manners);
}

}  // namespace ridgeline::cli

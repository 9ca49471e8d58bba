#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/kernels.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"
#include "latency/fit/columns_yaml.hpp"
#include "latency/fit/fit_kernels.hpp"
#include "latency/fit/operators.hpp"
#include "latency/fit/read_tables.hpp"
#include "report/results/kernel_fit.hpp"

namespace ridgeline::cli {
namespace {

bool is_version(std::string_view text) {
  const bool has_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  return has_digit && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

core::Error fit_flag_error(std::string field, std::string message, std::string hint) {
  return {.field = std::move(field),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

/// "0.19.0" or "gemm_8bit=0.24.0".
core::Result<std::pair<std::string, std::string>> read_fit_version(const std::string& given) {
  const auto equals = given.find('=');
  const bool is_named = equals != std::string::npos;
  const std::string key = is_named ? given.substr(0, equals) : std::string();
  const std::string version = is_named ? given.substr(equals + 1) : given;
  std::vector<std::string> keys;
  for (const auto& of : latency::fit::operators()) {
    keys.emplace_back(of.key);
  }
  if (is_named && std::ranges::find(keys, key) == keys.end()) {
    const auto near = document::nearest(key, keys);
    return core::fail(fit_flag_error(
        "--version",
        fmt::format("found operator \"{}\", expected one of {}", key, fmt::join(keys, ", ")),
        near ? fmt::format("did you mean '{}'?", *near) : std::string()));
  }
  if (!is_version(version)) {
    return core::fail(fit_flag_error("--version",
                                     fmt::format("found \"{}\", expected a version of vLLM", given),
                                     "--version 0.19.0, or --version gemm_8bit=0.24.0"));
  }
  return std::pair(key, version);
}

core::Result<latency::fit::FitOptions> read_fit_options(const Arguments& arguments) {
  latency::fit::FitOptions options;
  options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  core::Errors errors;
  for (const std::string& given : arguments.values("version")) {
    auto version = read_fit_version(given);
    if (version) {
      options.versions.push_back(*std::move(version));
    } else {
      errors.push_back(version.error().front());
    }
  }
  if (arguments.positionals.size() != 1) {
    errors.push_back(
        fit_flag_error("kernels fit",
                       fmt::format("found {} folders, expected one", arguments.positionals.size()),
                       "ridgeline kernels fit tables -o columns.yaml"));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return options;
}

std::vector<FlagSpec> fit_flags() {
  std::vector<FlagSpec> flags = manner_flags("table|json");
  flags.push_back({.name = "output",
                   .letter = 'o',
                   .value = "FILE",
                   .help = "Writes the constants, as --latency-constants reads them"});
  flags.push_back(
      {.name = "version",
       .repeatable = true,
       .value = "V",
       .help = "Newest tables not above this version of vLLM; OPERATOR=V for one operator"});
  return flags;
}

}  // namespace

ExitCode kernels_fit(Words words) {
  const Opening opening{
      .usage = "kernels fit DIR [-o FILE]",
      .about =
          "Fits the constants of the kernel model to measured operators: aiconfigurator's vLLM\n"
          "tables, or full/<gpu>/ of tools/profiler. Prints relative errors per operator and\n"
          "GPU, in sample and with the GPU left out; -o writes what --latency-constants reads.",
      .flags = fit_flags(),
      .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto options = read_fit_options(arguments);
  if (!options) {
    return give_up(options.error(), manners);
  }
  std::optional<OutputFile> output;
  if (arguments.has("output")) {
    auto opened = OutputFile::open("--output", arguments.value("output"));
    if (!opened) {
      return give_up(opened.error(), manners);
    }
    output.emplace(*std::move(opened));
  }
  const auto tables = latency::fit::read_tables(arguments.positionals.front());
  if (!tables) {
    return give_up(tables.error(), manners);
  }
  const auto fits = latency::fit::fit_kernels(*tables, *options);
  if (fits.empty()) {
    return give_up({fit_flag_error(arguments.positionals.front(),
                                   "no operator has rows enough to fit its constants",
                                   "more shapes are needed: docs/models/kernel.md")},
                   manners);
  }
  if (output) {
    output->stream() << latency::fit::columns_yaml(fits);
    if (auto written = output->commit(); !written) {
      return give_up(written.error(), manners);
    }
  }
  return put_out(manners.format == "json" ? report::kernel_fit_json(fits)
                                          : report::kernel_fit_table(fits, text_style(manners.out)),
                 manners);
}

}  // namespace ridgeline::cli

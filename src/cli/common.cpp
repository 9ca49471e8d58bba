#include "cli/common.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/bench_words.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_flags.hpp"
#include "cli/help.hpp"
#include "cli/inference_sim_words.hpp"
#include "cli/original_words.hpp"
#include "cli/output_file.hpp"
#include "cli/piped_input.hpp"
#include "cli/terminal.hpp"
#include "cli/trace_flags.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "report/palette.hpp"
#include "scenario/imports/imports.hpp"
#include "scenario/options.hpp"
#include "scenario/refused_settings.hpp"
#include "scenario/scenario.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

namespace {

FlagSpec flag_of(const scenario::Option& option) {
  FlagSpec spec{.name = std::string(option.flag)};
  const std::string_view kind = option.kind();
  if (option.is_switch()) {
    spec.takes = FlagSpec::Takes::kTruth;
  }
  const bool is_number = kind == "integer" || kind == "number";
  spec.value = !option.choices.empty() ? fmt::format("{}", fmt::join(option.choices, "|"))
               : !option.unit.empty()  ? std::string(option.unit)
               : is_number             ? "N"
                                       : "VALUE";
  if (option.shape != scenario::Option::Shape::kOne) {
    spec.repeatable = true;
    spec.value = option.shape == scenario::Option::Shape::kPairs ? "NAME=VALUE" : "VALUE";
  }
  spec.help = option.help;
  return spec;
}

std::optional<ColorMode> color_mode(std::string_view word) {
  if (word == "auto") {
    return ColorMode::kAuto;
  }
  if (word == "always") {
    return ColorMode::kAlways;
  }
  if (word == "never") {
    return ColorMode::kNever;
  }
  return std::nullopt;
}

core::Result<Manners> read_manners(const Arguments& arguments,
                                   std::span<const std::string> formats) {
  static const std::array<std::string, 3> kColors = {"auto", "always", "never"};
  core::Errors errors;
  Manners manners;
  manners.format = arguments.value("format", formats.front());
  if (manners.format != kQuiet && std::ranges::find(formats, manners.format) == formats.end()) {
    errors.push_back(bad_choice("format", manners.format, formats));
  }
  const std::string color = arguments.value("color", "auto");
  if (!color_mode(color)) {
    errors.push_back(bad_choice("color", color, kColors));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const bool ascii = arguments.has("ascii");
  manners.out = inspect_terminal(STDOUT_FILENO, *color_mode(color), ascii);
  manners.err = inspect_terminal(STDERR_FILENO, *color_mode(color), ascii);
  // inference-sim's levels that say more than its default.
  static const std::array<std::string_view, 3> kWordy = {"info", "debug", "trace"};
  manners.verbose =
      arguments.has("verbose") || std::ranges::find(kWordy, arguments.value("log")) != kWordy.end();
  return manners;
}

/// Where open_verb() puts a verb's opening that describe() asks for, else null.
Opening*& wanted_opening() {
  static Opening* wanted = nullptr;
  return wanted;
}

}  // namespace

std::vector<FlagSpec> scenario_flags(ScenarioPart part) {
  std::vector<FlagSpec> flags;
  flags.reserve(2 * scenario::options().size());
  for (const auto& option : scenario::options()) {
    const std::string_view section = option.section();
    const bool deployment = option.path == "model" || option.path == "gpu" ||
                            section == "latency" || section == "engine";
    const bool server = section == "serving" || option.path == "request_path";
    if (deployment || part == ScenarioPart::kWhole || (server && part == ScenarioPart::kServer)) {
      flags.push_back(flag_of(option));
    }
  }
  for (const auto& refused : scenario::refused_settings()) {
    const bool is_switch = refused.standard == "false";
    flags.push_back({.name = std::string(refused.flag),
                     .takes = is_switch ? FlagSpec::Takes::kTruth : FlagSpec::Takes::kValue,
                     .value = "VALUE"});
  }
  flags.push_back(
      {.name = "set",
       .repeatable = true,
       .value = "NAME=VALUE",
       .help = "What if: changes a value of the network (model.KEY) or of the GPU (hardware.KEY)"});
  if (part == ScenarioPart::kWhole) {
    flags.push_back({.name = "epp-config",
                     .value = "FILE",
                     .help = "Routing as an EndpointPickerConfig of llm-d says"});
    flags.push_back({.name = "policy-config",
                     .value = "FILE",
                     .help = "Routing and scheduling as a policy bundle of inference-sim says"});
  }
  flags.push_back({.name = "env",
                   .repeatable = true,
                   .value = "NAME=VALUE",
                   .help = "A variable that a launch script takes from outside"});
  flags.push_back({.name = "server",
                   .value = "N",
                   .help = "Which server of a launch file that starts several"});
  flags.push_back({.name = "file-kind",
                   .value = "shell",
                   .help = "The file is a shell's script, whatever it is called"});
  flags.push_back({.name = "latency-set",
                   .repeatable = true,
                   .value = "KEY=VALUE",
                   .help = "A constant or switch of the step-time model"});
  for (auto& flag : original_flags()) {
    flags.push_back(std::move(flag));
  }
  if (part == ScenarioPart::kWhole) {
    for (auto& more : {bench_flags(), inference_sim_flags()}) {
      flags.insert(flags.end(), more.begin(), more.end());
    }
  }
  return flags;
}

std::vector<FlagSpec> manner_flags(std::string_view formats) {
  using Takes = FlagSpec::Takes;
  return {
      {.name = "format",
       .value = fmt::format("{}{}", formats, formats.ends_with(kQuiet) ? "" : "|quiet"),
       .help = "What standard output gets; table by default"},
      {.name = "color",
       .value = "auto|always|never",
       .help = "Colours; auto asks the terminal and NO_COLOR"},
      {.name = "ascii", .takes = Takes::kNothing, .help = "No characters beyond ASCII"},
      {.name = "verbose",
       .takes = Takes::kNothing,
       .value = "lookups",
       .help = "Says on standard error where settings came from, and which kernel tables are read; "
               "lookups: a line for each look-up of a run"},
      {.name = "debug", .takes = Takes::kNothing, .value = "lookups", .meaning = "verbose"},
      {.name = "help", .takes = Takes::kNothing, .letter = 'h', .help = "This page"},
  };
}

FlagSpec output_flag() {
  return {
      .name = "output",
      .repeatable = true,
      .letter = 'o',
      .value = "FILE",
      .help = "Also writes the result to a file, in the format of its extension; may be repeated"};
}

Opening with_manner_flags(Opening opening, std::string_view formats) {
  for (auto& flag : manner_flags(formats)) {
    opening.flags.push_back(std::move(flag));
  }
  return opening;
}

std::optional<ExitCode> open_verb(const Opening& opening,
                                  std::span<const std::string> words,
                                  Arguments& arguments,
                                  Manners& manners) {
  if (Opening* wanted = std::exchange(wanted_opening(), nullptr)) {
    *wanted = opening;
    return ExitCode::kOk;
  }
  // Asking for help is answered whatever else was said wrongly.
  if (std::ranges::any_of(
          words, [](const std::string& word) { return word == "--help" || word == "-h"; })) {
    const Manners shown = default_manners();
    const int columns = shown.out.columns;
    return put_out(
        verbs::fitted(verb_page(opening.usage, opening.about, opening.flags, columns), columns),
        shown);
  }
  auto parsed = parse_arguments(words, opening.flags, foreign_flags);
  if (!parsed) {
    return give_up(parsed.error(), default_manners());
  }
  arguments = std::move(*parsed);
  if (const auto copied = copy_pipes(arguments); !copied) {
    return give_up(copied.error(), default_manners());
  }
  auto read = read_manners(arguments, opening.formats);
  if (!read) {
    return give_up(read.error(), default_manners());
  }
  manners = std::move(*read);
  return std::nullopt;
}

Opening describe(ExitCode (*run)(std::span<const std::string> words)) {
  Opening opening;
  wanted_opening() = &opening;
  static_cast<void>(run({}));
  return opening;
}

std::filesystem::path folder_of_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

ExitCode give_up(const core::Errors& errors, const Manners& manners) {
  print_errors(errors, manners.err);
  return exit_code(errors);
}

ExitCode put_out(std::string_view text, const Manners& manners) {
  if (OutputFile::has_standard_output() || manners.format == kQuiet) {
    return ExitCode::kOk;
  }
  if (const auto written = write_all(STDOUT_FILENO, text); !written) {
    return give_up(written.error(), manners);
  }
  return ExitCode::kOk;
}

Manners default_manners() {
  return {.out = inspect_terminal(STDOUT_FILENO, ColorMode::kAuto, false),
          .err = inspect_terminal(STDERR_FILENO, ColorMode::kAuto, false)};
}

namespace {

/// Settings from configuration files of other systems; those that a flag states too are the
/// flag's.
core::Result<scenario::Imported> imported_overrides(const Arguments& arguments) {
  struct Import {
    std::string_view flag;
    core::Result<scenario::Imported> (*read)(const document::Node&);
  };
  constexpr std::array kImports = {
      Import{.flag = "epp-config", .read = scenario::overrides_of_epp_config},
      Import{.flag = "policy-config", .read = scenario::overrides_of_policy_bundle}};
  scenario::Imported all;
  for (const auto& [flag, read] : kImports) {
    if (!arguments.has(flag)) {
      continue;
    }
    auto imported = document::read_document(arguments.value(flag)).and_then(read);
    if (!imported) {
      return imported;
    }
    std::erase_if(imported->overrides, [&](const scenario::Override& change) {
      const scenario::Option* option = scenario::find_option(change.path);
      return option != nullptr && arguments.has(option->flag);
    });
    all.overrides.insert(
        all.overrides.end(), imported->overrides.begin(), imported->overrides.end());
    all.warnings.insert(all.warnings.end(), imported->warnings.begin(), imported->warnings.end());
  }
  return all;
}

}  // namespace

namespace {

/// --env, --server and --file-kind.
core::Result<void> read_launch_flags(const Arguments& arguments,
                                     decltype(StatedScenario::launch)& launch) {
  const auto refuse = [](const char* flag, const std::string& value, const char* expected) {
    return core::fail(usage_error(flag, fmt::format("found '{}', expected {}", value, expected)));
  };
  for (const std::string& word : arguments.values("env")) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return refuse("--env", word, "NAME=VALUE");
    }
    launch.given.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  if (const GivenFlag* const given = arguments.find("server")) {
    launch.server = core::parse_whole<std::int64_t>(given->value);
    if (!launch.server || *launch.server < 1) {
      return refuse("--server", given->value, "a number from 1");
    }
  }
  launch.kind = arguments.value("file-kind");
  if (!launch.kind.empty() && launch.kind != "shell") {
    return refuse("--file-kind", launch.kind, "shell");
  }
  return {};
}

}  // namespace

core::Result<StatedScenario> stated_scenario(const Arguments& given, scenario::Purpose purpose) {
  Arguments named = given;
  if (purpose != scenario::Purpose::kLook) {
    take_trace(named);
  }
  if (named.positionals.size() > 1) {
    return core::fail(usage_error("",
                                  fmt::format("expected one scenario file, found {}: {}",
                                              named.positionals.size(),
                                              fmt::join(named.positionals, " "))));
  }
  const bool beside_file = !named.positionals.empty();
  core::Errors errors;
  take_inference_sim_words(named, beside_file, errors);
  take_bench_words(named, beside_file, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const Arguments& arguments = named;
  auto original = original_overrides(arguments);
  if (!original) {
    return core::fail(std::move(original).error());
  }
  std::vector<scenario::Override> overrides = std::move(*original);
  auto imported = imported_overrides(arguments);
  if (!imported) {
    return core::fail(std::move(imported).error());
  }
  overrides.insert(overrides.end(), imported->overrides.begin(), imported->overrides.end());
  for (const auto& flag : arguments.flags) {
    if (flag.name == "model" && arguments.has("model-config-folder")) {
      continue;  // The name of what the folder holds.
    }
    if (flag.name == "set" || flag.name == "latency-set") {
      overrides.push_back({.path = flag.name == "set" ? "set" : "latency.set", .text = flag.value});
      continue;
    }
    const auto option = std::ranges::find(scenario::options(), flag.name, &scenario::Option::flag);
    const auto refused =
        std::ranges::find(scenario::refused_settings(), flag.name, &scenario::RefusedSetting::flag);
    if (option != scenario::options().end()) {
      overrides.push_back({.path = std::string(option->path), .text = flag.value});
    } else if (refused != scenario::refused_settings().end()) {
      overrides.push_back({.path = std::string(refused->path), .text = flag.value});
    }
  }
  StatedScenario stated{
      .file = {}, .overrides = std::move(overrides), .warnings = flag_warnings(arguments)};
  stated.warnings.insert(
      stated.warnings.end(), imported->warnings.begin(), imported->warnings.end());
  if (!arguments.positionals.empty()) {
    stated.file = arguments.positionals.front();
  }
  if (const auto read = read_launch_flags(arguments, stated.launch); !read) {
    return core::fail(read.error());
  }
  return stated;
}

std::vector<scenario::Override> what_ifs(const Arguments& arguments) {
  std::vector<scenario::Override> overrides;
  for (const auto& flag : arguments.flags) {
    if (flag.name == "set" || flag.name == "latency-set") {
      overrides.push_back({.path = flag.name == "set" ? "set" : "latency.set", .text = flag.value});
      continue;
    }
    const auto option = std::ranges::find(scenario::options(), flag.name, &scenario::Option::flag);
    if (option != scenario::options().end()) {
      overrides.push_back({.path = std::string(option->path), .text = flag.value});
    }
  }
  return overrides;
}

core::Result<scenario::LoadedScenario> load(const Arguments& arguments, scenario::Purpose purpose) {
  return verbs::Request({}, stated_scenario(arguments, purpose)).load(purpose);
}

report::TextStyle text_style(const Terminal& terminal) {
  return {.width = terminal.columns,
          .ascii = !terminal.unicode,
          .palette = terminal.color ? report::Palette::ansi() : report::Palette::off(),
          .saved_to = {}};
}

core::Result<void> no_positionals(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return {};
  }
  return core::fail(
      usage_error("", fmt::format("unexpected \"{}\"", arguments.positionals.front())));
}

}  // namespace ridgeline::cli

#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "report/palette.hpp"
#include "scenario/scenario.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

/// How a verb shows what it found, from the flags that verbs share.
struct Manners {
  Terminal out = {};  ///< Standard output.
  Terminal err = {};  ///< Standard error.
  std::string format = "table";
  bool verbose = false;
};

/// The format of every verb that prints nothing: for its exit code and its files.
inline constexpr std::string_view kQuiet = "quiet";

using verbs::ScenarioPart;

/// The flags of the option table, --set, and what the original simulator called them.
[[nodiscard]] std::vector<FlagSpec> scenario_flags(ScenarioPart part);
/// --format, --color, --ascii, --verbose, --help. `formats` are offered in help.
[[nodiscard]] std::vector<FlagSpec> manner_flags(std::string_view formats);
/// -o, --output.
[[nodiscard]] FlagSpec output_flag();

/// What a verb does first: reads its words into `arguments` and `manners`. The exit code when that
/// was all: help was asked for and printed, or errors were.
struct Opening {
  std::string usage;  ///< "run [scenario.yaml] [flags]"
  std::string about;
  std::vector<FlagSpec> flags;
  std::vector<std::string> formats;  ///< What --format takes; the first is the default.
};
[[nodiscard]] std::optional<ExitCode> open_verb(const Opening& opening,
                                                std::span<const std::string> words,
                                                Arguments& arguments,
                                                Manners& manners);
/// What a command opens with; it does nothing else. `run` begins with open_verb().
[[nodiscard]] Opening describe(ExitCode (*run)(std::span<const std::string> words));
/// Adds the flags of manner_flags() behind the verb's own.
[[nodiscard]] Opening with_manner_flags(Opening opening, std::string_view formats);
/// Where this program lies; empty where the system does not say.
[[nodiscard]] std::filesystem::path folder_of_program();
/// Prints and maps to the exit code.
[[nodiscard]] ExitCode give_up(const core::Errors& errors, const Manners& manners);
/// Writes the result to standard output, unless an output file has that ("-") or the format is
/// quiet.
[[nodiscard]] ExitCode put_out(std::string_view text, const Manners& manners);

/// The manners of a verb whose flags could not be read: for showing why.
[[nodiscard]] Manners default_manners();

/// What the words of a verb say of a scenario: its file, and the overrides of the flags, before
/// anything is read but configuration of other systems.
using StatedScenario = verbs::Request::Stated;
[[nodiscard]] core::Result<StatedScenario> stated_scenario(const Arguments& arguments,
                                                           scenario::Purpose purpose);
/// The flags that are settings, of a verb whose words are no scenario.
[[nodiscard]] std::vector<scenario::Override> what_ifs(const Arguments& arguments);

/// The scenario that the flags and at most one file (a positional) describe.
[[nodiscard]] core::Result<scenario::LoadedScenario> load(const Arguments& arguments,
                                                          scenario::Purpose purpose);

/// How report lays out text for this terminal.
[[nodiscard]] report::TextStyle text_style(const Terminal& terminal);

/// The words of `words` as an error where the verb takes none.
[[nodiscard]] core::Result<void> no_positionals(const Arguments& arguments);

}  // namespace ridgeline::cli

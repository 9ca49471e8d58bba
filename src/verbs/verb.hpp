#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "scenario/scenario.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// One key of a verb's own beside those of a scenario. The command line has a flag for it, with
/// dashes for underscores; from these tables come parsing, help, completions and the manual page.
struct Parameter {
  enum class Kind : std::uint8_t {
    kText,          ///< `--to FORMAT`
    kWords,         ///< `--compare A,B`: a list of texts.
    kEach,          ///< A list of texts, from a flag that may be repeated.
    kSwitch,        ///< `--coverage`: true or false.
    kFile,          ///< `--svg FILE`: where the command line writes the artefact `svg`. No key.
    kOpen,          ///< `-o FILE`: what Host::open() opens. No key.
    kScenarioFile,  ///< `-o FILE`, any number: the artefact `yaml` or `json`, by its name. No key.
    kOutput,        ///< `-o FILE`, `--output FILE`, any number of them. No key.
    kProgress,      ///< `--progress MODE`. No key.
    kScenario,      ///< Here help has the flags of the scenario. No key.
    kHosts,    ///< Here help has flags that the command line reads itself: a group of that key.
    kManners,  ///< Here help has --format and so on; else they stand last. No key.
  };
  std::string key = {};
  Kind kind = Kind::kText;
  std::string value = {};  ///< How help calls what follows the flag: "FILE".
  std::string help = {};
  char letter = 0;  ///< A short form of the flag, 0 for none.
};

/// Where verbs offer them.
[[nodiscard]] inline Parameter output_parameter() {
  return {.key = "output", .kind = Parameter::Kind::kOutput};
}
[[nodiscard]] inline Parameter open_parameter() {
  return {.key = "output", .kind = Parameter::Kind::kOpen};
}
[[nodiscard]] inline Parameter progress_parameter() {
  return {.key = "progress", .kind = Parameter::Kind::kProgress};
}
[[nodiscard]] inline Parameter scenario_parameters() {
  return {.kind = Parameter::Kind::kScenario};
}

/// Which part of a scenario a verb takes keys of.
enum class ScenarioPart : std::uint8_t {
  kNone,
  kDeployment,  ///< Network, GPU, step-time model and engine.
  kServer,      ///< And the times around the engine, with the request path.
  kWhole,
};

/// What a verb answers. What is not asked for is not made.
struct Reply {
  int code = 0;  ///< Exit code (docs/cli.md).
  /// The answer for programs; empty where the verb has texts alone.
  std::function<document::Node()> tree = {};
  /// The answer as a text, by the format that is no JSON of `tree`.
  using View = std::function<std::string(const report::TextStyle& style)>;
  std::map<std::string, View, std::less<>> views = {};
  std::string usual_format = {};  ///< Where none is asked for; empty: the verb's first.
  /// Its table stands in place of the answer, whose files are then not written.
  bool is_aside = false;
  std::string notes = {};        ///< On standard error, before the answer.
  core::Warnings warnings = {};  ///< Behind the notes.
  core::Errors errors = {};      ///< Behind the answer, which stands.
  std::function<std::vector<report::figures::Figure>()> figures = {};
  /// Texts beside the answer, by the key of the flag that names a file for one: `svg` is a picture.
  std::map<std::string, std::function<std::string()>, std::less<>> artefacts = {};
  std::shared_ptr<const RunResult> run = {};  ///< The whole result of one run.

  /// The answer in any format of the verb; nothing in another.
  [[nodiscard]] std::optional<std::string> text(std::string_view format,
                                                const report::TextStyle& style) const;
};

/// What is answered with a tree alone.
[[nodiscard]] Reply answer_of(document::Node tree);

/// What was found, for the parts of a reply that show it.
template <class T>
[[nodiscard]] std::shared_ptr<const T> shared(T found) {
  return std::make_shared<const T>(std::move(found));
}
template <class T>
using Found = std::shared_ptr<const T>;
template <class T>
[[nodiscard]] std::function<document::Node()> tree_of(const Found<T>& found,
                                                      document::Node (*tree)(const T&)) {
  return [found, tree] { return tree(*found); };
}
template <class T>
[[nodiscard]] Reply::View view_of(const Found<T>& found, std::string (*text)(const T&)) {
  return [found, text](const report::TextStyle&) { return text(*found); };
}
template <class T>
[[nodiscard]] Reply::View view_of(const Found<T>& found,
                                  std::string (*text)(const T&, const report::TextStyle&)) {
  return [found, text](const report::TextStyle& style) { return text(*found, style); };
}

/// The formats of an answer that a sheet shows: the table first.
[[nodiscard]] std::vector<std::string> sheet_formats();
/// Shows what `tree` makes in each of them that has no view yet.
void add_views(Reply& reply,
               const std::function<document::Node()>& tree,
               report::Sheet (*sheet)(const document::Node& tree));

/// A page for so many columns: longer lines are broken between words, beside their first column.
/// Narrower than kNarrowest is as kNarrowest.
inline constexpr int kNarrowest = 40;
[[nodiscard]] std::string fitted(std::string_view page, int columns);

/// The gravest of the errors: internal, then bad input, then infeasible.
[[nodiscard]] int exit_code(const core::Errors& errors);
/// Exit codes (docs/cli.md).
inline constexpr int kDiffers = 1;  ///< A comparison differs, or points of a sweep were refused.
inline constexpr int kUsage = 2;    ///< Bad usage, configuration, input data or path.
inline constexpr int kInfeasible = 4;
inline constexpr int kInternal = 70;
inline constexpr int kThreshold = 99;     ///< A threshold is not met, or not surely enough.
inline constexpr int kInterrupted = 130;  ///< With what there was until then.

/// Verbs for which the command line has a function of its own: most have a terminal, a process or a
/// network, and no answer for a host.
enum class Own : std::uint8_t {
  kNone,
  kHelp,
  kRun,  ///< With the files that it writes; the answer is the verb's.
  kVersion,
  kCompletions,
  kMan,
  kKernels,  ///< Says which commands it has: they are verbs of two words.
  kSweep,
  kObserve,
  kUi,
  kMcp,
  kServe,
};

/// One verb: what it takes, and the function that answers it, the same for the command line, C,
/// Python, JavaScript and the page.
struct Verb {
  std::string name = {};  ///< "run", "kernels fit"
  std::string summary = {};
  std::string usage = {};  ///< "run [scenario.yaml] [flags]"
  std::string about = {};
  ScenarioPart scenario = ScenarioPart::kNone;
  scenario::Purpose purpose = scenario::Purpose::kRun;
  std::string words = {};  ///< The key that words beside the flags are the list of.
  std::vector<Parameter> parameters = {};
  std::vector<std::string> formats = {};  ///< The first is the default of --format.
  /// With -o and without --format, standard output gets nothing.
  bool shows_one = false;
  /// Ctrl-C is answered with what there is, and does not end the process at once.
  bool has_parts = false;
  /// Answers words of a command line that mean something else in another tool; may be null.
  std::optional<core::Error> (*refuse)(const std::vector<std::string>& words) = nullptr;
  core::Result<Reply> (*run)(Request& request, Host& host) = nullptr;
  /// A command of another verb: "kernels fit".
  [[nodiscard]] bool is_command() const { return name.find(' ') != std::string::npos; }

  Own own = Own::kNone;  ///< What the command line does in place of showing the answer.
};

/// Every verb, in the order of help.
[[nodiscard]] std::span<const Verb> verbs();
/// The verb of that name; null where there is none.
[[nodiscard]] const Verb* find_verb(std::string_view name);

}  // namespace ridgeline::verbs

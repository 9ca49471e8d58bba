#include "cli/manual.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/verb_pages.hpp"
#include "core/version.hpp"
#include "scenario/options.hpp"

namespace ridgeline::cli {
namespace {

/// Text as man(7) shows it: hyphens and backslashes as they are, no line that looks like a macro.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '|') {
      out += "|\\:";  // A line may end here.
    } else {
      out += c;
    }
  }
  return out;
}

/// Empty lines separate paragraphs, which man(7) calls .PP.
std::string paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out += line.empty()
               ? ".PP\n"
               : roff(line.substr(std::min(line.find_first_not_of(' '), line.size()))) + "\n";
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return out;
}

std::string flag_entry(const FlagSpec& flag) {
  const std::string letter = flag.letter == 0 ? "" : fmt::format("\\fB\\-{}\\fR, ", flag.letter);
  const std::string negation = flag.takes == FlagSpec::Takes::kTruth ? "[no\\-]" : "";
  const bool may_take = flag.takes == FlagSpec::Takes::kNothing && !flag.value.empty();
  const std::string value = flag.takes == FlagSpec::Takes::kValue
                                ? fmt::format(" \\fI{}\\fR", roff(flag.value))
                            : may_take ? fmt::format(" [{}]", roff(flag.value))
                                       : std::string();
  return fmt::format(".TP\n{}\\fB\\-\\-{}{}\\fR{}\n{}\n",
                     letter,
                     negation,
                     roff(flag.name),
                     value,
                     roff(flag.help));
}

bool is_setting(const FlagSpec& flag) {
  return std::ranges::find(scenario::options(), flag.name, &scenario::Option::flag) !=
         scenario::options().end();
}

std::string verbs_section() {
  std::string text = ".SH VERBS\n";
  for (const VerbPage& page : verb_pages()) {
    // A long list of choices fills no line: its heading is not adjusted.
    text += fmt::format(
        ".na\n.SS {}\n.ad\n{}", roff(page.opening.usage), paragraphs(page.opening.about));
    bool has_settings = false;
    for (const FlagSpec& flag : page.opening.flags) {
      has_settings = has_settings || (flag.name == "model" && is_setting(flag));
    }
    if (has_settings) {
      text += ".PP\nSettings of a scenario are flags too: see SETTINGS.\n";
    }
    for (const FlagSpec& flag : page.opening.flags) {
      const bool shown = !flag.help.empty() && flag.takes != FlagSpec::Takes::kRefused;
      if (shown && !(has_settings && is_setting(flag))) {
        text += flag_entry(flag);
      }
    }
  }
  return text;
}

std::string settings_section() {
  std::string text =
      ".SH SETTINGS\n"
      "By their key in YAML and JSON, with the flag. A flag wins over the file, the file over the "
      "default.\n"
      "Durations are numbers of seconds or have a unit: ps, ns, us, ms, s, min or m, h, d; latency "
      "targets "
      "always have it.\n";
  for (const auto& option : scenario::options()) {
    const std::string range = option.range_text();
    text += fmt::format(
        ".TP\n\\fB{}\\fR (\\fB\\-\\-{}\\fR)\n{}.\n.br\n{}{}{}; default: {}; example: {}\n",
        roff(option.path),
        roff(option.flag),
        roff(option.help),
        roff(option.kind()),
        option.unit.empty() ? "" : ", " + roff(option.unit),
        range.empty() ? "" : ", " + roff(range),
        roff(option.default_text()),
        roff(option.example));
  }
  return text;
}

constexpr std::string_view kEnd =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone\n"
    ".TP\n1\na comparison differs\n"
    ".TP\n2\nbad usage, configuration, input data or path\n"
    ".TP\n4\ninfeasible: the network does not fit, there is no capacity, or no request got an "
    "answer\n"
    ".TP\n70\na fault of this program\n"
    ".TP\n99\na threshold was not met\n"
    ".TP\n130\ninterrupted (Ctrl-C)\n"
    ".TP\n128 + n\nended by signal n: 129 SIGHUP, 143 SIGTERM, 153 SIGXFSZ\n"
    ".SH ENVIRONMENT\n"
    "\\fBNO_COLOR\\fR, \\fBCLICOLOR_FORCE\\fR, \\fBTERM\\fR, \\fBCOLUMNS\\fR, \\fBLC_ALL\\fR, "
    "\\fBLC_CTYPE\\fR and \\fBLANG\\fR say how tables look.\n"
    ".SH EXAMPLES\n"
    ".EX\n"
    "ridgeline run \\-\\-model llama\\-3.1\\-8b \\-\\-gpu h100 \\-\\-request\\-rate 8 "
    "\\-\\-input\\-len 512 \\-\\-output\\-len 256\n"
    "ridgeline replay requests.csv \\-\\-model llama\\-3.1\\-70b \\-\\-gpu h100 "
    "\\-\\-tensor\\-parallel\\-size 4\n"
    "ridgeline step \\-\\-model llama\\-3.1\\-8b \\-\\-gpu h100 \\-\\-decode 700x32 "
    "\\-\\-prefill 0+2048\n"
    ".EE\n";

}  // namespace

std::string manual_page() {
  std::string text = fmt::format(
      ".TH RIDGELINE 1 \"\" \"ridgeline {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "ridgeline \\- simulate the serving of large language models\n"
      ".SH SYNOPSIS\n"
      ".B ridgeline\n.I VERB\n[\\fIscenario.yaml\\fR] [\\fIflags\\fR]\n"
      ".SH DESCRIPTION\n"
      "How fast will this network be served on that GPU, and what holds it up?\n"
      "A scenario is a YAML or JSON document, or flags, or both; the file \\fB\\-\\fR is standard "
      "input or standard output.\n",
      core::version());
  text += verbs_section();
  text += settings_section();
  text += kEnd;
  return text;
}

}  // namespace ridgeline::cli

#include "cli/completions.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments.hpp"
#include "cli/verb_pages.hpp"

namespace ridgeline::cli {
namespace {

using Takes = FlagSpec::Takes;

bool is_shown(const FlagSpec& flag) {
  return !flag.help.empty() && flag.takes != Takes::kRefused;
}

/// A text in single quotes, for any of the three shells.
std::string quoted(std::string_view text, std::string_view quote_mark) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote_mark;
    } else {
      out += c;
    }
  }
  return out + "'";
}
std::string posix_quoted(std::string_view text) {
  return quoted(text, "'\\''");
}
std::string fish_quoted(std::string_view text) {
  return quoted(text, "\\'");
}

/// The ways to write a flag: --name, --no-name, -n.
std::vector<std::string> spellings(const FlagSpec& flag) {
  std::vector<std::string> all = {"--" + flag.name};
  if (flag.takes == Takes::kTruth) {
    all.push_back("--no-" + flag.name);
  }
  if (flag.letter != 0) {
    all.push_back(fmt::format("-{}", flag.letter));
  }
  return all;
}

std::string bash_case(const VerbPage& page) {
  std::vector<std::string> flags;
  std::string values;
  for (const FlagSpec& flag : page.opening.flags) {
    if (!is_shown(flag)) {
      continue;
    }
    const auto written = spellings(flag);
    flags.insert(flags.end(), written.begin(), written.end());
    if (flag.takes == Takes::kValue) {
      values += fmt::format("        {}) words={} kind={} ;;\n",
                            fmt::join(written, "|"),
                            posix_quoted(fmt::format("{}", fmt::join(value_words(flag), " "))),
                            takes_file(flag) ? "file" : "word");
    }
  }
  return fmt::format(
      "    {})\n"
      "      flags={}\n"
      "      positional={}\n"
      "      case \"$previous\" in\n{}"
      "      esac ;;\n",
      posix_quoted(page.name),
      posix_quoted(fmt::format("{}", fmt::join(flags, " "))),
      posix_quoted(fmt::format("{}", fmt::join(positional_words(page), " "))),
      values);
}

/// What `_arguments` of zsh takes in brackets.
std::string zsh_help(std::string_view help) {
  std::string text;
  for (const char c : help) {
    text +=
        c == '[' || c == ']' || c == ':' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return text;
}

std::string zsh_flag(const FlagSpec& flag) {
  std::string lines;
  const auto words = value_words(flag);
  std::string action;
  if (flag.takes == Takes::kValue) {
    action = words.empty() ? takes_file(flag) ? ":value:_files" : ":value: "
                           : fmt::format(":value:({})", fmt::join(words, " "));
  }
  for (const std::string& written : spellings(flag)) {
    const std::string_view repeat = flag.repeatable ? "*" : "";
    const std::string_view equals =
        flag.takes == Takes::kValue && written.starts_with("--") ? "=" : "";
    lines +=
        fmt::format(" \\\n        {}",
                    posix_quoted(fmt::format(
                        "{}{}{}[{}]{}", repeat, written, equals, zsh_help(flag.help), action)));
  }
  return lines;
}

}  // namespace

std::string bash_completions() {
  std::string verbs;
  std::string cases;
  for (const VerbPage& page : verb_pages()) {
    cases += bash_case(page);
    if (page.name.find(' ') == std::string::npos) {
      verbs += page.name + " ";
    }
  }
  return fmt::format(
      "# bash completion for ridgeline: source <(ridgeline completions bash)\n"
      "_ridgeline() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local verb=${{COMP_WORDS[1]}} flags= positional= words= kind=\n"
      "  if [[ $current == = ]]; then current=; "
      "elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{0}help' -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  if [[ $verb == help ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{0}options coming-from glossary' -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  if [[ $verb == kernels ]] && ((COMP_CWORD > 2)); then verb=\"kernels "
      "${{COMP_WORDS[2]}}\"; fi\n"
      "  case \"$verb\" in\n{1}"
      "  esac\n"
      "  if [[ -n $words ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  fi\n"
      "  if [[ $kind == word ]]; then return; fi\n"
      "  if [[ -z $kind && $current == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
      "  elif [[ -z $kind && -n $positional ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$positional\" -- \"$current\")\n"
      "  elif ((${{#COMPREPLY[@]}} == 0)); then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "  fi\n"
      "}}\n"
      "complete -F _ridgeline ridgeline\n",
      verbs,
      cases);
}

std::string zsh_completions() {
  std::string verbs;
  std::string cases;
  for (const VerbPage& page : verb_pages()) {
    if (page.name.find(' ') == std::string::npos) {
      verbs += fmt::format("    {}\n",
                           posix_quoted(fmt::format("{}:{}", page.name, zsh_help(page.summary))));
    }
    std::string arguments;
    for (const FlagSpec& flag : page.opening.flags) {
      arguments += is_shown(flag) ? zsh_flag(flag) : std::string();
    }
    const auto words = positional_words(page);
    const std::string files =
        words.empty() ? "*:file:_files" : fmt::format("*:word:({})", fmt::join(words, " "));
    cases += fmt::format("    ({})\n      _arguments -s{} \\\n        {} ;;\n",
                         posix_quoted(page.name),
                         arguments,
                         posix_quoted(files));
  }
  return fmt::format(
      "#compdef ridgeline\n"
      "# zsh completion for ridgeline: ridgeline completions zsh > a folder of $fpath/_ridgeline\n"
      "_ridgeline() {{\n"
      "  local -a verbs\n"
      "  verbs=(\n{}    'help:a verb'\\''s flags, or every option'\n  )\n"
      "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n"
      "  if [[ $verb == kernels ]] && (( CURRENT > 2 )); then\n"
      "    verb=\"kernels $words[2]\"; shift words; (( CURRENT-- ))\n"
      "  fi\n"
      "  case $verb in\n{}"
      "  esac\n"
      "}}\n"
      "_ridgeline \"$@\"\n",
      verbs,
      cases);
}

std::string fish_completions() {
  std::string text =
      "# fish completion for ridgeline: ridgeline completions fish | source\n"
      "complete -c ridgeline -f -n __fish_use_subcommand -a help -d 'every option'\n";
  for (const VerbPage& page : verb_pages()) {
    const auto blank = page.name.find(' ');
    if (blank == std::string::npos) {
      text += fmt::format("complete -c ridgeline -f -n __fish_use_subcommand -a {} -d {}\n",
                          page.name,
                          fish_quoted(page.summary));
    }
    std::string when = "__fish_seen_subcommand_from " + page.name.substr(0, blank);
    if (blank != std::string::npos) {
      when += "; and __fish_seen_subcommand_from " + page.name.substr(blank + 1);
    }
    const std::string head = fmt::format("complete -c ridgeline -n {}", fish_quoted(when));
    if (const auto words = positional_words(page); !words.empty()) {
      text +=
          fmt::format("{} -f -a {}\n", head, fish_quoted(fmt::format("{}", fmt::join(words, " "))));
    }
    for (const FlagSpec& flag : page.opening.flags) {
      if (!is_shown(flag)) {
        continue;
      }
      const auto words = value_words(flag);
      const std::string value =
          flag.takes != Takes::kValue ? ""
          : !words.empty()
              ? fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(words, " "))))
          : takes_file(flag) ? " -r -F"
                             : " -x";
      const std::string letter = flag.letter == 0 ? "" : fmt::format(" -s {}", flag.letter);
      text += fmt::format(
          "{} -l {}{}{} -d {}\n", head, flag.name, letter, value, fish_quoted(flag.help));
      if (flag.takes == Takes::kTruth) {
        text += fmt::format("{} -l no-{}\n", head, flag.name);
      }
    }
  }
  return text;
}

}  // namespace ridgeline::cli

#include "cli/foreign_flags.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "report/text_lines.hpp"
#include "scenario/foreign_flags.hpp"

namespace ridgeline::cli {
namespace {

using Answer = scenario::ForeignFlag::Answer;

/// Calls `take` with each row of one answer that every verb reads.
template <class Take>
void each_flag(Answer answer, Take take) {
  for (const std::string_view name : scenario::kForeignPrograms) {
    const scenario::ForeignProgram& program = scenario::foreign_program(name);
    for (const scenario::ForeignFlag& flag : program.flags) {
      if (flag.answer == answer && program.verb.empty()) {
        take(flag);
      }
    }
  }
}

std::vector<std::string> names_of(const scenario::ForeignFlag& flag) {
  return flag.short_name.empty() ? std::vector{flag.name} : std::vector{flag.name, flag.short_name};
}

/// Appends each answer and the flags that it is for.
void add_answers(Answer answer, std::string& text) {
  const report::LineLayout layout{.width = 100, .indent = 4, .separator = " "};
  for (const std::string& said : scenario::foreign_answers(answer)) {
    std::string flags;
    each_flag(answer, [&](const scenario::ForeignFlag& flag) {
      for (const std::string& name :
           flag.text == said ? names_of(flag) : std::vector<std::string>()) {
        flags += fmt::format("--{} ", name);
      }
    });
    text += "\n" + report::wrapped("  ", report::words(said), layout);
    text += report::wrapped("    ", report::words(flags), layout);
  }
}

}  // namespace

std::vector<FlagSpec> foreign_flags(std::span<const FlagSpec> own) {
  std::vector<FlagSpec> flags;
  each_flag(Answer::kMeans, [&](const scenario::ForeignFlag& flag) {
    const FlagSpec* meant = find_spec(own, flag.text);
    if (meant != nullptr && find_spec(own, flag.name) == nullptr) {
      flags.push_back({.name = flag.name,
                       .takes = meant->takes,
                       .repeatable = meant->repeatable,
                       .value = meant->value,
                       .meaning = flag.text});
    }
  });
  if (find_spec(own, "model") == nullptr) {
    return flags;
  }
  for (const Answer answer : {Answer::kRefused, Answer::kIgnored}) {
    each_flag(answer, [&](const scenario::ForeignFlag& flag) {
      for (const std::string& name : names_of(flag)) {
        if (find_spec(own, name) == nullptr) {
          flags.push_back({.name = name,
                           .takes = answer == Answer::kRefused ? FlagSpec::Takes::kRefused
                                                               : FlagSpec::Takes::kIgnored,
                           .many = flag.takes_many(),
                           .value = flag.takes,
                           .help = flag.text});
        }
      }
    });
  }
  return flags;
}

core::Warnings flag_warnings(const Arguments& arguments) {
  core::Warnings warnings;
  for (const FlagSpec& flag : arguments.ignored) {
    const auto same = std::ranges::find(warnings, flag.help, &core::Warning::hint);
    if (same == warnings.end()) {
      warnings.push_back({.code = flag.meaning.empty() ? "W-ignored-flag" : flag.meaning,
                          .message = flag.name,
                          .hint = flag.help});
    } else {
      same->message += ", " + flag.name;
    }
  }
  for (core::Warning& warning : warnings) {
    warning.message += ": " + std::exchange(warning.hint, {});
  }
  return warnings;
}

std::string foreign_page() {
  std::string text =
      "Flags of `vllm serve`, `vllm bench serve`, inference-sim and the servers of the other "
      "engines "
      "that are flags of ours under "
      "another name:\n\n";
  each_flag(Answer::kMeans, [&](const scenario::ForeignFlag& flag) {
    text += fmt::format("  --{:<32} --{}\n", flag.name, flag.text);
  });
  text += "\nthose that are passed over, with a warning:\n";
  add_answers(Answer::kIgnored, text);
  text += "\nand those that are answered with an error:\n";
  add_answers(Answer::kRefused, text);
  return text;
}

}  // namespace ridgeline::cli

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"

namespace ridgeline::deploy {

/// Names and values, as of an environment.
using Values = std::vector<std::pair<std::string, std::string>>;

/// A command that a script runs, its words expanded. What has no value in the script stands in the
/// text as a mark (unknowns_in).
struct ScriptCommand {
  std::vector<Word> words;
  std::vector<Word> variables;  ///< "NAME=VALUE": what is exported, and its own.
  std::string condition = {};   ///< The "if ..." or loop that decides about it; empty: it is run.
  int loop_line = 0;            ///< Where the loop stands that runs it several times; 0: none.
};

/// What a script does, as far as that is known without running it.
struct Script {
  std::vector<ScriptCommand> commands;
  std::map<std::string, std::string> files;    ///< That its here-documents write.
  std::map<std::string, std::string> reasons;  ///< Why a variable has no value: its condition.
  std::vector<std::string> sourced;            ///< Other scripts that it reads.
  int exit_line = 0;                           ///< Where it ends before its end; 0: nowhere.
  core::Warnings warnings;
};

/// Reads a script; nothing is executed. `given`: variables from outside. `is_word`: the text stands
/// in one word, at `place`.
[[nodiscard]] Script read_script(std::string_view text,
                                 const core::Location& place,
                                 const Values& given,
                                 core::Errors& errors,
                                 bool is_word = false);

}  // namespace ridgeline::deploy

#include "cli/commands/sweep_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "verbs/request.hpp"

namespace ridgeline::cli {
namespace {

/// An action, and which of the verb's own flags it takes. Flags of a scenario belong to those that
/// read one.
struct Action {
  std::string_view name;
  std::string_view flags;  ///< Each with a blank behind it.
  bool reads_sweep = false;
};
constexpr std::array kActions = {
    Action{.name = "run",
           .flags = "axis measure store shard jobs partial output progress ",
           .reads_sweep = true},
    Action{.name = "list", .flags = "axis measure output ", .reads_sweep = true},
    Action{.name = "status", .flags = "store "},
    Action{.name = "merge", .flags = "store partial output "},
    Action{
        .name = "submit", .flags = "axis measure store engine shards output ", .reads_sweep = true},
};

std::vector<FlagSpec> sweep_flags() {
  return {
      {.name = "axis",
       .repeatable = true,
       .value = "KEY=V,V",
       .help = "Varies a setting: values by commas, or {from: 64, to: 512, factor: 2}"},
      {.name = "measure",
       .value = "run|capacity",
       .help = "What is found out about each point; run: one simulation; capacity: the rate within "
               "`slo`"},
      {.name = "store",
       .value = "FOLDER",
       .help = "Where results are kept, and found again; by default sweep- and a digest"},
      {.name = "shard",
       .value = "I/N",
       .help = "Of N parts of the points, the one of that number, from 0"},
      {.name = "jobs", .value = "N", .help = "Points at a time; one per core by default"},
      {.name = "shards", .value = "N", .help = "For submit: tasks of the script; 64 by default"},
      {.name = "partial",
       .takes = FlagSpec::Takes::kNothing,
       .help = "Merges what there is, points missing or not"},
      output_flag(),
      progress_flag(),
  };
}

bool takes(const Action& action, std::string_view flag) {
  return action.flags.find(fmt::format("{} ", flag)) != std::string_view::npos;
}

}  // namespace

Opening sweep_opening() {
  Opening opening{
      .usage = "sweep run|list|status|merge|submit [sweep.yaml|FOLDER] [flags]",
      .about =
          "Runs every combination of the values of a scenario's `axes`. Results are kept in a "
          "folder, one\n"
          "line per point: a run that was stopped, by Ctrl-C or SIGKILL, goes on when it is "
          "started again.\n"
          "`--shard 3/8` is an eighth of the points, for as many processes and machines; `merge` "
          "gives the same\n"
          "bytes for any number of them. `submit --engine slurm|parallel|kubernetes` writes the "
          "script that\n"
          "starts them, and runs nothing. Exit code 1 when points were refused (0 of a shard), 4 "
          "when no point\n"
          "can run, 130 after Ctrl-C.",
      .flags = scenario_flags(ScenarioPart::kWhole),
      .formats = {"table", "json", "csv", "ndjson"}};
  for (auto& flag : sweep_flags()) {
    opening.flags.push_back(std::move(flag));
  }
  for (auto& flag : manner_flags("table|json|csv|ndjson")) {
    opening.flags.push_back(std::move(flag));
  }
  return opening;
}

core::Result<std::string> take_action(Arguments& arguments) {
  std::vector<std::string> names;
  for (const Action& action : kActions) {
    names.emplace_back(action.name);
  }
  const auto* const action =
      arguments.positionals.empty()
          ? kActions.end()
          : std::ranges::find(kActions, std::string_view(arguments.positionals[0]), &Action::name);
  if (action == kActions.end()) {
    return core::fail(
        verbs::bad_word("sweep", arguments.positionals, names, "ridgeline sweep run FILE"));
  }
  arguments.positionals.erase(arguments.positionals.begin());
  core::Errors errors;
  const std::vector<FlagSpec> own = sweep_flags();
  const std::vector<FlagSpec> manner = manner_flags("");
  for (const GivenFlag& flag : arguments.flags) {
    const bool is_own = std::ranges::find(own, flag.name, &FlagSpec::name) != own.end();
    const bool is_manner = std::ranges::find(manner, flag.name, &FlagSpec::name) != manner.end();
    if (is_manner || (is_own && takes(*action, flag.name)) || (!is_own && action->reads_sweep)) {
      continue;
    }
    errors.push_back(usage_error(flag.typed,
                                 fmt::format("has no meaning for `sweep {}`", action->name),
                                 "ridgeline sweep --help"));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return std::string(action->name);
}

verbs::Request sweep_request(const Arguments& arguments) {
  const core::Location where = {.file = "command line"};
  std::vector<document::Node> axes;
  for (const std::string& axis : arguments.values("axis")) {
    axes.push_back(document::Node::string(axis, where));
  }
  std::vector<document::Node::Member> members = {
      {.key = "axis", .value = document::Node::list(std::move(axes), where), .where = where}};
  if (arguments.has("measure")) {
    members.push_back({.key = "measure",
                       .value = document::Node::string(arguments.value("measure"), where),
                       .where = where});
  }
  return {std::move(members), stated_scenario(arguments, scenario::Purpose::kRun)};
}

std::vector<std::string> without_submit_words(Words words) {
  constexpr std::array<std::string_view, 6> kTaken = {
      "--engine", "--shards", "--store", "--output", "-o", "--format"};
  std::vector<std::string> left;
  bool is_action_gone = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view flag = word.substr(0, word.find('='));
    if (word == "--") {
      // The scripts add flags behind these words.
      for (++i; i < words.size(); ++i) {
        left.push_back((words[i].starts_with('-') ? "./" : "") + words[i]);
      }
    } else if (std::ranges::find(kTaken, flag) != kTaken.end()) {
      i += flag == word ? 1U : 0U;
    } else if (!is_action_gone && word == "submit") {
      is_action_gone = true;
    } else {
      left.emplace_back(word);
    }
  }
  return left;
}

}  // namespace ridgeline::cli

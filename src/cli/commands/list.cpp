#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "model/networks_in_folder.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"
#include "report/results/choices.hpp"
#include "report/results/networks.hpp"

namespace ridgeline::cli {
namespace {

std::string as_table(const std::vector<report::Choice>& entries, const report::TextStyle& style) {
  std::size_t width = 0;
  for (const auto& entry : entries) {
    width = std::max(width, entry.name.size());
  }
  std::string text;
  for (const auto& entry : entries) {
    text += fmt::format("{:<{}}  {}\n", entry.name, width, entry.summary);
  }
  return fitted(text, style.width);
}

std::vector<FlagSpec> list_flags() {
  std::vector<FlagSpec> flags = {{.name = "path",
                                  .value = "FOLDER",
                                  .help = "With models: the config.json files of a folder, read or "
                                          "refused, instead of the catalogue"}};
  flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json|markdown")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

ExitCode list_folder(const std::string& folder, VerbOutputs outputs, const Manners& manners) {
  const auto networks = model::networks_in_folder(folder);
  if (!networks) {
    return give_up(networks.error(), manners);
  }
  return outputs.put_out(
      [&](std::string_view format, const report::TextStyle& /*style*/) {
        return format == "json"       ? report::json_text(report::networks_tree(*networks))
               : format == "markdown" ? report::networks_markdown(*networks)
                                      : report::networks_table(*networks);
      },
      manners);
}

core::Error without_folder(std::string_view flag) {
  return {.field = std::string(flag),
          .message = "goes with the networks of a folder alone",
          .where = {.file = "command line"},
          .hint = "ridgeline list models --path FOLDER"};
}

}  // namespace

ExitCode list_command(Words words) {
  const Opening opening{
      .usage =
          "list "
          "models|gpus|latency|engines|traces|presets|routers|admission|formats|options|roadmap",
      .about = "Lists what there is to choose from.",
      .flags = list_flags(),
      .formats = {"table", "json", "markdown"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto& given = arguments.positionals;
  const auto kind = report::find_choice_kind(given);
  if (!kind) {
    return give_up(kind.error(), manners);
  }
  const GivenFlag* path = arguments.find("path");
  if (path != nullptr && (*kind)->name != "models") {
    return give_up({without_folder("--path")}, manners);
  }
  // Markdown has the networks of a folder alone.
  std::vector<std::string> formats = opening.formats;
  if (path == nullptr) {
    formats.pop_back();
  }
  auto outputs = VerbOutputs::open(arguments, manners, formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  if (path != nullptr) {
    return list_folder(path->value, std::move(*outputs), manners);
  }
  if (manners.format == "markdown") {
    return give_up({without_folder("--format markdown")}, manners);
  }
  const auto entries = (*kind)->list();
  if (!entries) {
    return give_up(entries.error(), manners);
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return format == "json" ? report::json_text(report::choices_tree(*entries))
                                : as_table(*entries, style);
      },
      manners);
}

}  // namespace ridgeline::cli

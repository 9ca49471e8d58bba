#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "verbs/list_choices.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

std::string as_table(const std::vector<Choice>& entries, const report::TextStyle& style) {
  std::size_t width = 0;
  for (const auto& entry : entries) {
    width = std::max(width, entry.name.size());
  }
  report::Sheet sheet("Choices");
  for (const auto& entry : entries) {
    sheet.row(entry.summary, entry.name, width + 2);
  }
  return fitted(sheet.render(report::Face::kTerminal, style), style.width);
}

core::Error without_folder(std::string field) {
  return {.field = std::move(field),
          .message = "goes with the networks of a folder alone",
          .where = {.file = "command line"},
          .hint = "ridgeline list models --path FOLDER"};
}

core::Result<Reply> list(Request& request, Host& host) {
  const std::vector<std::string> words = request.take_texts("kind", true);
  const std::string folder = request.take_text("path");
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto kind = find_choice_kind(words);
  if (!kind) {
    return core::fail(kind.error());
  }
  if (!folder.empty()) {
    return (*kind)->name == "models" ? list_folder(folder)
                                     : core::fail(without_folder(request.field("path")));
  }
  if (host.wants("markdown")) {
    return core::fail(without_folder("--format markdown"));
  }
  auto entries = (*kind)->list();
  if (!entries) {
    return core::fail(entries.error());
  }
  const auto found = shared(std::move(*entries));
  return Reply{.tree = tree_of(found, choices_tree),
               .views = {{"table", view_of(found, as_table)}}};
}

}  // namespace

Verb list_verb() {
  return {
      .name = "list",
      .summary =
          "what there is to choose from: models, gpus, latency, engines, traces, presets, formats, "
          "options, and what of the review's roadmap works",
      .usage =
          "list "
          "models|gpus|latency|engines|traces|presets|routers|admission|formats|options|roadmap",
      .about = "Lists what there is to choose from.",
      .words = "kind",
      .parameters = {{.key = "path",
                      .value = "FOLDER",
                      .help = "With models: the config.json files of a folder, read or "
                              "refused, instead of the catalogue"},
                     output_parameter()},
      .formats = {"table", "json", "markdown"},
      .run = list};
}

}  // namespace ridgeline::verbs

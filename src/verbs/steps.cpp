#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/input_files.hpp"
#include "sim/logs/step_log.hpp"
#include "verbs/registry.hpp"
#include "verbs/steps_view.hpp"
#include "verbs/verb.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<sim::StepSummary> summarise(const std::vector<std::string>& files) {
  if (files.size() != 1) {
    return core::fail(
        {.message = fmt::format("expected one step log, found {}", files.size()),
         .where = {.file = "command line"},
         .hint = "ridgeline run ... --steps-out steps.jsonl, then ridgeline steps steps.jsonl"});
  }
  const std::string& path = files.front();
  return document::open_file(path).and_then([&](std::ifstream file) {
    auto input = workload::make_plain_input(std::make_unique<std::ifstream>(std::move(file)));
    return sim::summarise_step_log(workload::LineReader(workload::unpacked(std::move(input))),
                                   path);
  });
}

core::Result<Reply> steps(Request& request, Host& /*host*/) {
  const std::vector<std::string> files = request.take_texts("file", true);
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto summary = summarise(files);
  if (!summary) {
    return core::fail(std::move(summary).error());
  }
  const auto found = shared(std::move(*summary));
  Reply reply{.tree = tree_of(found, sim::summary_tree),
              .views = {{"folded", view_of(found, sim::folded_stacks)}}};
  add_views(reply, reply.tree, steps_sheet);
  return reply;
}

}  // namespace

Verb steps_verb() {
  return {
      .name = "steps",
      .summary = "summarise a step log: where the time of a run went",
      .usage = "steps FILE.jsonl [flags]",
      .about =
          "Where the time of a run went, from the log that --steps-out wrote: by bottleneck,\n"
          "phase and operator, and how far look-ups were from their tables. `--format folded` is\n"
          "for flame graphs: a line \"phase;operator;bottleneck microseconds\" per stack.",
      .words = "file",
      .parameters = {output_parameter()},
      .formats = {"table", "json", "folded", "markdown", "html", "csv"},
      .run = steps};
}

}  // namespace ridgeline::verbs

#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "document/input_files.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"
#include "report/step_log.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::cli {
namespace {

core::Result<report::StepSummary> summarise(const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return core::fail(
        {.message = fmt::format("expected one step log, found {}", arguments.positionals.size()),
         .where = {.file = "command line"},
         .hint = "ridgeline run ... --steps-out steps.jsonl, then ridgeline steps "
                 "steps.jsonl"});
  }
  const std::string& path = arguments.positionals.front();
  return document::open_file(path).and_then([&](std::ifstream file) {
    auto input = workload::make_plain_input(std::make_unique<std::ifstream>(std::move(file)));
    return report::summarise_step_log(workload::LineReader(workload::unpacked(std::move(input))),
                                      path);
  });
}

std::vector<FlagSpec> steps_flags() {
  std::vector<FlagSpec> flags = {output_flag()};
  for (auto& flag : manner_flags("table|json|folded")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

}  // namespace

ExitCode steps_command(Words words) {
  const Opening opening{
      .usage = "steps FILE.jsonl [flags]",
      .about =
          "Where the time of a run went, from the log that --steps-out wrote: by bottleneck,\n"
          "phase and operator, and how far look-ups were from their tables. `--format folded` is\n"
          "for flame graphs: a line \"phase;operator;bottleneck microseconds\" per stack.",
      .flags = steps_flags(),
      .formats = {"table", "json", "folded"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  const auto summary = summarise(arguments);
  if (!summary) {
    return give_up(summary.error(), manners);
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        if (format == "folded") {
          return report::folded_stacks(*summary);
        }
        return format == "json" ? report::json_text(report::summary_tree(*summary))
                                : report::summary_table(*summary, style);
      },
      manners);
}

}  // namespace ridgeline::cli

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/input_files.hpp"
#include "core/result.hpp"
#include "report/result_json.hpp"
#include "report/step_log.hpp"
#include "workload/traces/byte_input.hpp"
#include "workload/traces/line_reader.hpp"

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
  return core::open_file(path).and_then([&](std::ifstream file) {
    auto input = workload::make_plain_input(std::make_unique<std::ifstream>(std::move(file)));
    return report::summarise_step_log(workload::LineReader(workload::unpacked(std::move(input))),
                                      path);
  });
}

}  // namespace

ExitCode steps_command(Words words) {
  const Opening opening{
      .usage = "steps FILE.jsonl [flags]",
      .about =
          "Where the time of a run went, from the log that --steps-out wrote: by bottleneck,\n"
          "phase and operator, and how far look-ups were from their tables.",
      .flags = manner_flags("table|json"),
      .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto summary = summarise(arguments);
  if (!summary) {
    return give_up(summary.error(), manners);
  }
  return put_out(manners.format == "json"
                     ? report::json_text(report::summary_tree(*summary))
                     : report::summary_table(*summary, text_style(manners.out)),
                 manners);
}

}  // namespace ridgeline::cli

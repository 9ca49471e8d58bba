#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/document.hpp"
#include "core/result.hpp"
#include "report/result_json.hpp"
#include "report/step_log.hpp"

namespace ridgeline::cli {
namespace {

/// Logs of long runs are large; this is some ten million steps.
constexpr std::size_t kMaxLogBytes = std::size_t{4} * 1024 * 1024 * 1024;

core::Result<report::StepSummary> summarise(const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return core::fail(
        {.message = fmt::format("expected one step log, found {}", arguments.positionals.size()),
         .where = {.file = "command line"},
         .hint = "ridgeline run ... --steps-out steps.jsonl, then ridgeline steps "
                 "steps.jsonl"});
  }
  const std::string& path = arguments.positionals.front();
  return core::read_file(path, kMaxLogBytes).and_then([&](const std::string& text) {
    return report::summarise_step_log(text, path);
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

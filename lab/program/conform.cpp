#include "lab/conform/conform.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "lab/pages/conform.hpp"
#include "lab/program/laboratory.hpp"

namespace ridgeline::laboratory {
ExitCode conform_command(Words words) {
  const Opening opening{
      .usage = "conform FILE...",
      .about =
          "Replays decisions recorded from vLLM's own scheduler and compares, for every engine\n"
          "version in the file: schedules, queues, preemptions, free counts, block ids, prefix\n"
          "statistics and per-request tables. Or decisions of routers, gateways and autoscalers: "
          "scores,\n"
          "picks, saturation, targets. Exit code 1 when anything differs or says what no "
          "scheduler\n"
          "here does; a case of which a part is not compared is refused.",
      .flags = manner_flags("table|json"),
      .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (arguments.positionals.empty()) {
    return give_up({{.field = "conform",
                     .message = "found no file, expected at least one recording",
                     .where = {.file = "command line"},
                     .hint = "ridgeline conform recording.json"}},
                   manners);
  }
  const auto results = conform::conform_files(arguments.positionals);
  if (!results) {
    return give_up(results.error(), manners);
  }
  const ExitCode written = put_out(
      manners.format == "json" ? report::conform_json(*results) : report::conform_table(*results),
      manners);
  if (written != ExitCode::kOk) {
    return written;
  }
  return report::num_different(*results) + report::num_not_expressible(*results) == 0
             ? ExitCode::kOk
             : ExitCode::kDiffers;
}

}  // namespace ridgeline::laboratory

#include <string>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/kernels.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "latency/measured/check.hpp"
#include "report/results/kernel_check.hpp"

namespace ridgeline::cli {
ExitCode kernels_check(Words words) {
  const Opening opening{.usage = "kernels check DIR",
                        .about =
                            "Recomputes FLOPs from the shapes and finds the peak and the way of "
                            "counting that explain\n"
                            "every MFU, and the data sheet that has that peak; names ways of "
                            "counting and rows that\n"
                            "the GPU cannot reach, MFUs above 1, rows rounded to zero, holes, "
                            "warm-up outliers and FP8\n"
                            "kernels passed off as BF16. Exit code 1 when a table contradicts "
                            "itself, 2 when a file\n"
                            "cannot be read.",
                        .flags = manner_flags("table|json"),
                        .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (arguments.positionals.size() != 1) {
    return give_up(
        {{.field = "kernels check",
          .message = fmt::format("found {} folders, expected one", arguments.positionals.size()),
          .where = {.file = "command line"},
          .hint = "ridgeline kernels check tables"}},
        manners);
  }
  const auto check = latency::measured::check_tables(arguments.positionals.front());
  if (!check) {
    return give_up(check.error(), manners);
  }
  const ExitCode written = put_out(manners.format == "json" ? report::kernel_check_json(*check)
                                                            : report::kernel_check_table(*check),
                                   manners);
  if (written != ExitCode::kOk) {
    return written;
  }
  if (!check->refused.empty()) {
    return give_up(check->refused, manners);
  }
  return report::has_contradiction(*check) ? ExitCode::kDiffers : ExitCode::kOk;
}

}  // namespace ridgeline::cli

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
#include "document/document.hpp"
#include "report/html_report.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"

namespace ridgeline::cli {
namespace {

/// The result in a file that `run` wrote: its JSON, or its page.
core::Result<document::Node> read_result(const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return core::fail(core::Error{
        .message = fmt::format("expected one result, found {}", arguments.positionals.size()),
        .where = {.file = "command line"},
        .hint = "ridgeline run ... -o run.html, then ridgeline report run.html"});
  }
  return report::read_result(arguments.positionals.front());
}

}  // namespace

ExitCode report_command(Words words) {
  std::vector<FlagSpec> flags = {output_flag()};
  for (auto& flag : manner_flags("html|json")) {
    flags.push_back(std::move(flag));
  }
  const Opening opening{
      .usage = "report FILE [flags]",
      .about =
          "The page of a saved result (.json or .html, as `run -o` wrote it), or with\n"
          "--format json the result in a page.",
      .flags = std::move(flags),
      .formats = {"html", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto result = read_result(arguments);
  if (!result) {
    return give_up(result.error(), manners);
  }
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle&) {
        return format == "json"
                   ? report::json_text(*result)
                   : report::html_report(*result,
                                         report::words_of(*result, arguments.positionals.front()));
      },
      manners);
}

}  // namespace ridgeline::cli

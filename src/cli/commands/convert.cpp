#include "workload/traces/writing/convert.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/trace_flags.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/input_files.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::cli {
namespace {

core::Result<workload::Conversion> convert_to(const Arguments& arguments,
                                              const std::string& path,
                                              ProgressDisplay::Mode progress,
                                              const Terminal& terminal,
                                              std::ostream& out) {
  const auto options = read_options(arguments);
  if (!options) {
    return core::fail(options.error());
  }
  auto format = workload::find_trace_format(arguments.value("to"));
  if (!format) {
    for (auto& error : format.error()) {
      error.field = "--to";
      error.where = {.file = "command line"};
    }
    return core::fail(std::move(format.error()));
  }
  auto stream = workload::open_items(path, *options);
  if (!stream) {
    return core::fail(std::move(stream.error()));
  }
  ProgressDisplay display(progress, terminal);
  auto done = workload::convert(shown(std::move(*stream), display), **format, out);
  display.finish();
  return done;
}

/// A conversion of inference-sim's that needs none here, or nothing.
std::optional<core::Error> needless_conversion(Words words) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTheirs = {
      {{"preset", "`run --workload NAME` takes it; a description has `sources: [{preset: NAME}]`"},
       {"inference-perf", "its configuration is read as it is: `run --trace FILE`"},
       {"servegen", "its folder is read as it is: `run --trace FOLDER`"}}};
  if (words.size() < 2) {
    return std::nullopt;
  }
  const auto* const theirs =
      std::ranges::find(kTheirs, words.front(), &decltype(kTheirs)::value_type::first);
  std::error_code ignored;
  if (theirs == kTheirs.end() || std::filesystem::exists(words.front(), ignored)) {
    return std::nullopt;
  }
  return core::Error{.message = fmt::format("'convert {}' needs no conversion here", theirs->first),
                     .where = {.file = "command line"},
                     .hint = std::string(theirs->second)};
}

/// What a person should know of the new file; on standard error, which leaves the file alone.
void tell(const workload::Conversion& done, const Manners& manners) {
  std::string text =
      fmt::format("{} {} written\n", done.requests, core::plural("request", done.requests));
  for (const std::string& lost : done.lost) {
    text += fmt::format("lost: {}\n", lost);
  }
  static_cast<void>(write_all(STDERR_FILENO, text));
  for (const auto& warning : done.warnings) {
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  }
}

}  // namespace

ExitCode convert_command(Words words) {
  if (const auto needless = needless_conversion(words)) {
    return give_up({*needless}, default_manners());
  }
  Opening opening{.usage = "convert FILE --to FORMAT [-o FILE] [flags]",
                  .about = "Writes a workload in another format and says what is lost.",
                  .flags = trace_flags(),
                  .formats = {"table"}};
  opening.flags.push_back({.name = "to", .value = "FORMAT", .help = "See `ridgeline list traces`"});
  opening.flags.push_back(output_flag());
  opening.flags.push_back(progress_flag());
  for (auto& flag : manner_flags("table")) {
    opening.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto path = only_file(arguments, "a trace: ridgeline convert FILE --to FORMAT");
  if (!path) {
    return give_up(path.error(), manners);
  }
  const auto progress = progress_mode(arguments, manners.err);
  if (!progress) {
    return give_up(progress.error(), manners);
  }
  const auto outputs = arguments.values("output");
  if (outputs.size() > 1) {
    return give_up({{.field = "--output",
                     .message = "is given twice, expected one file",
                     .where = {.file = "command line"}}},
                   manners);
  }
  if (outputs.empty()) {
    std::ostringstream text;
    const auto done = convert_to(arguments, *path, *progress, manners.err, text);
    if (!done) {
      return give_up(done.error(), manners);
    }
    tell(*done, manners);
    return put_out(text.str(), manners);
  }
  document::note_input(*path);  // Opened below, when the output has been.
  auto file = OutputFile::open("--output", outputs.front());
  if (!file) {
    return give_up(file.error(), manners);
  }
  const auto done = convert_to(arguments, *path, *progress, manners.err, file->stream());
  if (!done) {
    return give_up(done.error(), manners);
  }
  if (const auto written = file->commit(); !written) {
    return give_up(written.error(), manners);
  }
  tell(*done, manners);
  return ExitCode::kOk;
}

}  // namespace ridgeline::cli

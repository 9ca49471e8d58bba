#include "workload/traces/trace.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/picture_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/trace_flags.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "report/result_json.hpp"
#include "report/trace_report.hpp"
#include "workload/trace_stats.hpp"
#include "workload/trace_tree.hpp"

namespace ridgeline::cli {
namespace {

core::Result<workload::TraceStats> describe(const std::string& path,
                                            const Arguments& arguments,
                                            const Terminal& terminal) {
  std::int64_t block = 0;
  if (arguments.has("block-size")) {
    constexpr std::int64_t kLargestBlock = 1 << 20;
    const auto given = whole_number(arguments, "block-size", 1, kLargestBlock);
    if (!given) {
      return core::fail(given.error());
    }
    block = *given;
  }
  const auto options = read_options(arguments);
  if (!options) {
    return core::fail(options.error());
  }
  const auto format = workload::format_of(path);
  if (!format) {
    return core::fail(format.error());
  }
  auto stream = workload::open_items(path, *options);
  if (!stream) {
    return core::fail(std::move(stream.error()));
  }
  const auto progress = progress_mode(arguments, terminal);
  if (!progress) {
    return core::fail(progress.error());
  }
  ProgressDisplay display(*progress, terminal);
  auto stats = workload::describe_trace(
      shown(std::move(*stream), display), std::string((*format)->name), core::Tokens(block));
  display.finish();
  return stats;
}

}  // namespace

ExitCode trace_command(Words words) {
  Opening opening{.usage = "trace FILE [flags]",
                  .about = "Describes a workload: rate, lengths, sessions, prefix reuse.",
                  .flags = trace_flags(),
                  .formats = {"table", "json"}};
  opening.flags.push_back({.name = "block-size",
                           .value = "TOKENS",
                           .help = "Blocks of prefix reuse; the trace's own, else 16"});
  opening.flags.push_back(progress_flag());
  opening.flags.push_back({.name = "svg", .value = "FILE", .help = "Draws it"});
  for (auto& flag : manner_flags("table|json")) {
    opening.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto path = only_file(arguments, "a trace: ridgeline trace FILE");
  if (!path) {
    return give_up(path.error(), manners);
  }
  const auto stats = describe(*path, arguments, manners.err);
  if (!stats) {
    return give_up(stats.error(), manners);
  }
  if (const GivenFlag* svg = arguments.find("svg")) {
    auto file = open_picture(svg->value);
    if (!file) {
      return give_up(file.error(), manners);
    }
    file->stream() << report::trace_svg(*stats, std::filesystem::path(*path).filename().string());
    if (const auto done = file->commit(); !done) {
      return give_up(done.error(), manners);
    }
  }
  const document::Node tree = workload::trace_tree(*stats);
  return put_out(manners.format == "json" ? report::json_text(tree)
                                          : report::trace_table(tree, text_style(manners.out)),
                 manners);
}

}  // namespace ridgeline::cli

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
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/input_files.hpp"
#include "document/node_builder.hpp"
#include "report/palette.hpp"
#include "verbs/registry.hpp"
#include "verbs/trace_options.hpp"
#include "verbs/verb.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::verbs {
namespace {

/// A conversion of inference-sim's that needs none here, or nothing.
std::optional<core::Error> needless_conversion(const std::vector<std::string>& words) {
  using Theirs = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Theirs, 3> kTheirs = {
      {{"preset", "`run --workload NAME` takes it; a description has `sources: [{preset: NAME}]`"},
       {"inference-perf", "its configuration is read as it is: `run --trace FILE`"},
       {"servegen", "its folder is read as it is: `run --trace FOLDER`"}}};
  if (words.size() < 2) {
    return std::nullopt;
  }
  const auto* const theirs = std::ranges::find(kTheirs, words.front(), &Theirs::first);
  std::error_code ignored;
  if (theirs == kTheirs.end() || std::filesystem::exists(words.front(), ignored)) {
    return std::nullopt;
  }
  return core::Error{.message = fmt::format("'convert {}' needs no conversion here", theirs->first),
                     .where = {.file = "command line"},
                     .hint = std::string(theirs->second)};
}

/// What a person should know of the new file.
std::string notes_of(const workload::Conversion& done) {
  std::string text =
      fmt::format("{} {} written\n", done.requests, core::plural("request", done.requests));
  for (const std::string& lost : done.lost) {
    text += fmt::format("lost: {}\n", lost);
  }
  return text;
}

core::Result<Reply> convert(Request& request, Host& host) {
  const std::string file = request.take_file("a trace: ridgeline convert FILE --to FORMAT");
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const workload::ReadOptions options = take_read_options(request);
  auto format = workload::find_trace_format(request.take_text("to"));
  if (!format) {
    request.add(request.problem("to", format.error().front().message, format.error().front().hint));
  }
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  document::note_input(file);  // Opened below, when the output has been.
  const auto opened = host.open("output");
  if (!opened) {
    return core::fail(opened.error());
  }
  auto stream = workload::open_items(file, options);
  if (!stream) {
    return core::fail(std::move(stream.error()));
  }
  std::ostringstream kept;
  std::ostream& out = *opened == nullptr ? kept : **opened;
  auto done = workload::convert(watched(std::move(*stream), host), **format, out);
  if (!done) {
    return core::fail(std::move(done).error());
  }
  Reply reply{.notes = notes_of(*done), .warnings = done->warnings};
  reply.views["table"] = [text = kept.str()](const report::TextStyle&) { return text; };
  reply.tree = [done = std::move(*done), text = std::move(kept).str()] {
    return document::MapBuilder()
        .add("requests", done.requests)
        .add("lost", done.lost)
        .add("text", text)
        .add("warnings", done.warnings)
        .build();
  };
  return reply;
}

}  // namespace

Verb convert_verb() {
  Verb verb{.name = "convert",
            .summary = "convert between trace formats",
            .usage = "convert FILE --to FORMAT [-o FILE] [flags]",
            .about = "Writes a workload in another format and says what is lost.",
            .words = "file",
            .parameters = trace_parameters(),
            .formats = {"table"},
            .refuse = needless_conversion,
            .run = convert};
  verb.parameters.push_back(
      {.key = "to", .value = "FORMAT", .help = "See `ridgeline list traces`"});
  verb.parameters.push_back(open_parameter());
  verb.parameters.push_back(progress_parameter());
  return verb;
}

}  // namespace ridgeline::verbs

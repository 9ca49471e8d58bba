#include "workload/traces/trace.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "core/units.hpp"
#include "verbs/registry.hpp"
#include "verbs/trace_options.hpp"
#include "verbs/trace_view.hpp"
#include "verbs/verb.hpp"
#include "workload/trace_stats.hpp"
#include "workload/trace_tree.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<Reply> trace(Request& request, Host& host) {
  constexpr std::int64_t kLargestBlock = 1 << 20;
  const std::string file = request.take_file("a trace: ridgeline trace FILE");
  const std::int64_t block = request.take_integer("block_size", 0, 1, kLargestBlock);
  const workload::ReadOptions options = take_read_options(request);
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto format = workload::format_of(file);
  if (!format) {
    return core::fail(format.error());
  }
  auto stream = workload::open_items(file, options);
  if (!stream) {
    return core::fail(std::move(stream).error());
  }
  auto stats = workload::describe_trace(
      watched(std::move(*stream), host), std::string((*format)->name), core::Tokens(block));
  if (!stats) {
    return core::fail(std::move(stats).error());
  }
  const auto found = shared(std::move(*stats));
  Reply reply{.tree = tree_of(found, workload::trace_tree)};
  add_views(reply, reply.tree, trace_sheet);
  reply.artefacts["svg"] = [found, name = std::filesystem::path(file).filename().string()] {
    return trace_svg(workload::trace_tree(*found), name);
  };
  return reply;
}

}  // namespace

Verb trace_verb() {
  Verb verb{.name = "trace",
            .summary = "describe a trace: rate, lengths, sessions, prefix reuse",
            .usage = "trace FILE [flags]",
            .about = "Describes a workload: rate, lengths, sessions, prefix reuse.",
            .words = "file",
            .parameters = trace_parameters(),
            .formats = sheet_formats(),
            .run = trace};
  verb.parameters.push_back({.key = "block_size",
                             .value = "TOKENS",
                             .help = "Blocks of prefix reuse; the trace's own, else 16"});
  verb.parameters.push_back(progress_parameter());
  verb.parameters.push_back(
      {.key = "svg", .kind = Parameter::Kind::kFile, .value = "FILE", .help = "Draws it"});
  return verb;
}

}  // namespace ridgeline::verbs

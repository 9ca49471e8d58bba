#include "cli/trace_flags.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/piped_files.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::cli {
namespace {

/// Whether a file is a trace, not a scenario: its content has a trace's format, and not a
/// scenario's keys.
bool is_trace(const std::string& path) {
  if (path.ends_with(".sh")) {
    return false;  // A launch script, whatever its first line looks like.
  }
  std::error_code failure;
  const std::string file = document::path_to_open(path);
  const auto status = std::filesystem::status(file, failure);
  if (std::filesystem::is_directory(status)) {
    return true;  // A scenario is never one.
  }
  if (!std::filesystem::is_regular_file(status) || !workload::format_of(path)) {
    return false;
  }
  if (std::filesystem::file_size(file, failure) > document::kMaxDocumentBytes) {
    return true;
  }
  const auto document = document::read_document(path);
  if (!document) {
    const bool named_so =
        path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
    return !named_so;
  }
  const auto has = [&](std::string_view key) {
    return document->is_map() && document->find(key) != nullptr;
  };
  const bool is_scenario =
      has("gpu") || has("engine") || has("workload") || (has("model") && !has("input_tokens"));
  return !is_scenario;
}

}  // namespace

void take_trace(Arguments& arguments) {
  auto& words = arguments.positionals;
  constexpr std::size_t kTraceAndScenario = 2;
  if (words.size() > kTraceAndScenario || arguments.has("trace") ||
      std::ranges::count_if(words, is_trace) != 1) {
    return;
  }
  const auto trace = std::ranges::find_if(words, is_trace);
  arguments.flags.push_back({.name = "trace", .value = *trace, .typed = *trace});
  words.erase(trace);
}

core::Result<std::int64_t> whole_number(const Arguments& arguments,
                                        std::string_view flag,
                                        std::int64_t lowest,
                                        std::int64_t highest) {
  const std::string text = arguments.value(flag);
  const auto value = core::parse_whole<std::int64_t>(text);
  if (!value || *value < lowest || *value > highest) {
    return core::fail(core::Error{.field = fmt::format("--{}", flag),
                                  .message = fmt::format("found {}, expected a whole number from "
                                                         "{} to {}",
                                                         core::quote(text),
                                                         lowest,
                                                         highest),
                                  .where = {.file = "command line"}});
  }
  return *value;
}

}  // namespace ridgeline::cli

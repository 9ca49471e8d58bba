#include "cli/trace_flags.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/piped_files.hpp"
#include "document/reader.hpp"
#include "workload/limits.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::cli {
namespace {

/// Whether a file is a trace, not a scenario: its content has a trace's format, and not a
/// scenario's keys.
bool is_trace(const std::string& path) {
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

/// The value of a flag that takes a time: seconds, or with a unit.
core::Result<core::Duration> time_of(const Arguments& arguments, std::string_view flag) {
  const std::string text = arguments.value(flag);
  double seconds = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (code != std::errc() || end != text.data() + text.size()) {
    const auto parsed = document::parse_quantity(text, "seconds");
    if (!parsed) {
      core::Error error = parsed.error().front();
      error.field = fmt::format("--{}", flag);
      error.where = {.file = "command line"};
      return core::fail(std::move(error));
    }
    seconds = *parsed;
  }
  const auto time = core::Duration::from_seconds(seconds);
  if (!time || *time < core::Duration() || *time > workload::kLatestArrival) {
    return core::fail(core::Error{.field = fmt::format("--{}", flag),
                                  .message = fmt::format("{} is out of range, expected 0s to {}s",
                                                         core::quote(text),
                                                         workload::kLatestArrival.to_seconds()),
                                  .where = {.file = "command line"}});
  }
  return *time;
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

std::vector<FlagSpec> trace_flags() {
  return {{.name = "skip-bad-rows",
           .takes = FlagSpec::Takes::kNothing,
           .help = "Drop rows that cannot be read; they are counted and listed"},
          {.name = "trace-sessions",
           .value = "recorded|answered",
           .help = "When turns of recorded sessions come: as recorded, or after the answer before"},
          {.name = "trace-start",
           .value = "s",
           .help = "Where in the trace to begin; time counts from there"},
          {.name = "trace-end",
           .value = "s",
           .help = "Where in the trace to end: what begins then or later is left out"},
          {.name = "trace-tenant",
           .value = "NAME",
           .help = "The requests of this tenant alone, or of several: a,b"},
          {.name = "trace-model",
           .value = "NAME",
           .help = "The requests that the trace sends to this model alone, or to several: a,b"},
          {.name = "seed", .value = "N", .help = "For what is generated from a description"}};
}

core::Result<workload::ReadOptions> read_options(const Arguments& arguments) {
  static const std::array<std::string, 2> kTimes = {"recorded", "answered"};
  workload::ReadOptions options;
  options.skip_bad_rows = arguments.has("skip-bad-rows");
  const std::string times = arguments.value("trace-sessions", kTimes[0]);
  if (times != kTimes[0] && times != kTimes[1]) {
    return core::fail(bad_choice("trace-sessions", times, kTimes));
  }
  options.part.tenants = workload::split_names(arguments.value("trace-tenant"));
  options.part.models = workload::split_names(arguments.value("trace-model"));
  if (arguments.has("trace-start")) {
    const auto start = time_of(arguments, "trace-start");
    if (!start) {
      return core::fail(start.error());
    }
    options.part.start = *start;
  }
  if (arguments.has("trace-end")) {
    const auto end = time_of(arguments, "trace-end");
    if (!end) {
      return core::fail(end.error());
    }
    options.part.end = *end;
  }
  options.session_times =
      times == kTimes[1] ? workload::SessionTimes::kAnswered : workload::SessionTimes::kRecorded;
  if (arguments.has("seed")) {
    constexpr std::int64_t kMostSeed = std::int64_t{1} << 53;
    const auto seed = whole_number(arguments, "seed", 0, kMostSeed);
    if (!seed) {
      return core::fail(seed.error());
    }
    options.seed = static_cast<std::uint64_t>(*seed);
  }
  return options;
}

core::Result<std::string> only_file(const Arguments& arguments, std::string_view expected) {
  if (arguments.positionals.size() == 1) {
    return arguments.positionals.front();
  }
  return core::fail(
      core::Error{.message = arguments.positionals.empty()
                                 ? fmt::format("no file is given, expected {}", expected)
                                 : fmt::format("{} is one file too many, expected {}",
                                               core::quote(arguments.positionals[1]),
                                               expected),
                  .where = {.file = "command line"}});
}

core::Result<std::int64_t> whole_number(const Arguments& arguments,
                                        std::string_view flag,
                                        std::int64_t lowest,
                                        std::int64_t highest) {
  const std::string text = arguments.value(flag);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest ||
      value > highest) {
    return core::fail(core::Error{.field = fmt::format("--{}", flag),
                                  .message = fmt::format("found {}, expected a whole number from "
                                                         "{} to {}",
                                                         core::quote(text),
                                                         lowest,
                                                         highest),
                                  .where = {.file = "command line"}});
  }
  return value;
}

}  // namespace ridgeline::cli

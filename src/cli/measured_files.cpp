#include "cli/measured_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "sim/options.hpp"
#include "sim/scenario.hpp"
#include "sim/validate/validate.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::int64_t kMostHistories = 1000;
constexpr std::int64_t kMostThreads = 1024;

core::Result<std::int64_t> read_count(const Arguments& arguments,
                                      std::string_view flag,
                                      std::int64_t otherwise,
                                      std::int64_t highest) {
  const std::string text = arguments.value(flag);
  if (text.empty()) {
    return otherwise;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > highest) {
    return core::fail(core::Error{
        .field = fmt::format("--{}", flag),
        .message = fmt::format("\"{}\" is out of range, expected 1 to {}", text, highest),
        .where = {.file = "command line"}});
  }
  return value;
}

void read_what_ifs(const Arguments& arguments, std::vector<sim::Override>& overrides) {
  for (const auto& flag : arguments.flags) {
    if (flag.name == "set" || flag.name == "latency-set") {
      overrides.push_back({.path = flag.name == "set" ? "set" : "latency.set", .text = flag.value});
      continue;
    }
    const auto option = std::ranges::find(sim::options(), flag.name, &sim::Option::flag);
    if (option != sim::options().end()) {
      overrides.push_back({.path = std::string(option->path), .text = flag.value});
    }
  }
}

}  // namespace

std::vector<FlagSpec> measured_flags() {
  return {{.name = "histories",
           .value = "N",
           .help = "Histories to simulate: draws of arrivals and lengths [3]"},
          {.name = "threads",
           .value = "N",
           .help = "Threads [all cores]; results do not depend on it"}};
}

core::Result<MeasuredJob> read_measured(const Arguments& arguments) {
  MeasuredJob job;
  core::Errors errors;
  const auto keep = [&](auto result, auto& place) {
    if (result) {
      place = std::move(*result);
    } else {
      errors.insert(errors.end(), result.error().begin(), result.error().end());
    }
  };
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  keep(read_count(arguments, "histories", job.options.histories, kMostHistories),
       job.options.histories);
  keep(read_count(arguments, "threads", cores, kMostThreads), job.options.threads);
  read_what_ifs(arguments, job.options.overrides);
  if (arguments.positionals.empty()) {
    errors.push_back({.message = "found no file, expected measured runs",
                      .where = {.file = "command line"},
                      .hint = "experiments.jsonl, or a benchmark's result"});
  }
  for (const auto& path : arguments.positionals) {
    auto read = sim::validate::read_evidence(path);
    if (read) {
      std::ranges::move(*read, std::back_inserter(job.evidence));
    } else {
      errors.insert(errors.end(), read.error().begin(), read.error().end());
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return job;
}

void warn_of_left_out(const std::vector<sim::validate::Evidence>& evidence,
                      const Manners& manners) {
  constexpr std::size_t kMostWarnings = 10;
  std::vector<std::string> told;
  for (const auto& record : evidence) {
    for (const auto& rows : record.left_out) {
      const std::string message = fmt::format("{}: left out {}", record.file, rows);
      if (told.size() < kMostWarnings && std::ranges::find(told, message) == told.end()) {
        told.push_back(message);
        const core::Warning warning{.code = "W-rows-left-out", .message = message};
        static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
      }
    }
  }
}

}  // namespace ridgeline::cli

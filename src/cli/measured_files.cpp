#include "cli/measured_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "evidence/validate/measured_files.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::int64_t kMostHistories = 1000;

void read_what_ifs(const Arguments& arguments, std::vector<scenario::Override>& overrides) {
  for (const auto& flag : arguments.flags) {
    if (flag.name == "set" || flag.name == "latency-set") {
      overrides.push_back({.path = flag.name == "set" ? "set" : "latency.set", .text = flag.value});
      continue;
    }
    const auto option = std::ranges::find(scenario::options(), flag.name, &scenario::Option::flag);
    if (option != scenario::options().end()) {
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
  keep(evidence::validate::read_files(arguments.positionals, job.options.overrides), job.evidence);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return job;
}

void warn_of_files(const std::vector<evidence::validate::Evidence>& evidence,
                   const Manners& manners) {
  constexpr std::size_t kMostWarnings = 10;
  std::vector<std::string> shown;
  const auto warn = [&](const std::string& code, const std::string& message) {
    if (std::ranges::find(shown, message) != shown.end()) {
      return;
    }
    shown.push_back(message);
    if (shown.size() <= kMostWarnings) {
      const core::Warning warning{.code = code, .message = message};
      static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
    }
  };
  for (const auto& record : evidence) {
    for (const auto& rows : record.left_out) {
      warn("W-rows-left-out", fmt::format("{}: left out {}", record.file, rows));
    }
    for (const auto& warning : record.warnings) {
      warn(warning.code, fmt::format("{}: {}", record.file, warning.message));
    }
    for (const auto& doubt : record.doubts) {
      warn("W-measured-file", fmt::format("{}: {}", record.file, doubt));
    }
  }
  if (shown.size() > kMostWarnings) {
    const core::Warning warning{
        .code = "W-measured-file",
        .message = fmt::format("{} more of these warnings", shown.size() - kMostWarnings),
        .hint = "--format json has all"};
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  }
}

}  // namespace ridgeline::cli

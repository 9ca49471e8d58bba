#include "cli/commands/perfetto_words.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/reader.hpp"
#include "sim/logs/perfetto.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::int64_t kUsualEvents = 1'000'000;
/// A trace of more has no viewer: a browser's memory ends before.
constexpr std::int64_t kMostEvents = 100'000'000;

/// Reads "60s+10s" into the options.
core::Result<void> read_window(std::string_view text, sim::PerfettoOptions& options) {
  const auto wrong = [&] {
    return core::fail(core::Error{
        .field = "--perfetto-window",
        .message =
            fmt::format("found '{}', expected START+LENGTH, two times such as 60s+10s", text),
        .where = {.file = "command line"}});
  };
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos) {
    return wrong();
  }
  const auto start = document::parse_quantity(text.substr(0, plus), "seconds");
  const auto length = document::parse_quantity(text.substr(plus + 1), "seconds");
  const double last = core::SimTime::last().to_seconds();
  if (!start || !length || *start < 0.0 || !(*length > 0.0) || *start + *length > last) {
    return wrong();
  }
  options.from = core::SimTime::at(*core::Duration::from_seconds(*start));
  options.until = options.from + *core::Duration::from_seconds(*length);
  return {};
}

}  // namespace

std::vector<FlagSpec> perfetto_flags() {
  return {{.name = "perfetto-out",
           .value = "FILE",
           .help = "Steps, requests and counters as a trace for ui.perfetto.dev: .pftrace, "
                   ".pftrace.gz"},
          {.name = "perfetto-window",
           .value = "START+LENGTH",
           .help = "Of that trace, what happens in this part of the run: 60s+10s"},
          {.name = "perfetto-max-events",
           .value = "N",
           .help = fmt::format("Of that trace, the first N events [{}]", kUsualEvents)}};
}

core::Result<sim::PerfettoOptions> perfetto_options(const Arguments& arguments) {
  sim::PerfettoOptions options;
  core::Errors errors;
  for (const std::string_view flag : {"perfetto-window", "perfetto-max-events"}) {
    if (arguments.has(flag) && !arguments.has("perfetto-out")) {
      errors.push_back(usage_error(fmt::format("--{}", flag),
                                   "there is no trace that it is of",
                                   "--perfetto-out run.pftrace"));
    }
  }
  if (const GivenFlag* const flag = arguments.find("perfetto-window")) {
    keep_errors(read_window(flag->value, options), errors);
  }
  const auto most = read_count(arguments, "perfetto-max-events", kUsualEvents, kMostEvents);
  keep_errors(most, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  options.most_events = *most;
  return options;
}

core::Warning perfetto_cut_warning(const Arguments& arguments, core::SimTime cut) {
  return {.code = "W-trace-cut",
          .message = fmt::format("'{}' ends after {:.6g} s of the run: it holds no more than "
                                 "--perfetto-max-events events",
                                 arguments.value("perfetto-out"),
                                 cut.to_seconds()),
          .hint = fmt::format("--perfetto-window START+LENGTH for another part; 0s+{:.6g}s fits",
                              cut.to_seconds())};
}

}  // namespace ridgeline::cli

#include "cli/trace_flags.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::cli {

std::vector<FlagSpec> trace_flags() {
  return {{.name = "skip-bad-rows",
           .takes = FlagSpec::Takes::kNothing,
           .help = "Drop rows that cannot be read; they are counted and listed"},
          {.name = "trace-sessions",
           .value = "recorded|answered",
           .help = "When turns of recorded sessions come: as recorded, or after the answer before"},
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

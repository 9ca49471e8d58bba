#include "cli/trace_flags.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "verbs/trace_options.hpp"

namespace ridgeline::cli {

void take_trace(Arguments& arguments) {
  auto& words = arguments.positionals;
  constexpr std::size_t kTraceAndScenario = 2;
  if (words.size() > kTraceAndScenario || arguments.has("trace") ||
      std::ranges::count_if(words, verbs::is_trace) != 1) {
    return;
  }
  const auto trace = std::ranges::find_if(words, verbs::is_trace);
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
    return core::fail(usage_error(fmt::format("--{}", flag),
                                  fmt::format("found {}, expected a whole number from "
                                              "{} to {}",
                                              core::quote(text),
                                              lowest,
                                              highest)));
  }
  return *value;
}

}  // namespace ridgeline::cli

#include "cli/commands/series_words.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "metrics/timeline.hpp"

namespace ridgeline::cli {

using metrics::Timeline;

std::vector<FlagSpec> series_flags() {
  return {{.name = "series",
           .takes = FlagSpec::Takes::kNothing,
           .help = "The run over simulated time, as the key `series` of JSON results"},
          {.name = "series-buckets",
           .value = "N",
           .help = fmt::format("The same in at most so many windows, {} to {} [{}]",
                               Timeline::kLeastWindows,
                               Timeline::kMostWindows,
                               Timeline::kUsualWindows)}};
}

core::Result<std::optional<std::size_t>> series_windows(const Arguments& arguments) {
  const auto number =
      read_count(arguments, "series-buckets", Timeline::kUsualWindows, Timeline::kMostWindows);
  if (!number) {
    return core::fail(number.error());
  }
  if (*number < static_cast<std::int64_t>(Timeline::kLeastWindows)) {
    return core::fail(core::Error{.field = "--series-buckets",
                                  .message = fmt::format("found {}, expected {} to {}",
                                                         *number,
                                                         Timeline::kLeastWindows,
                                                         Timeline::kMostWindows),
                                  .where = {.file = "command line"}});
  }
  const bool wanted = arguments.has("series") || arguments.has("series-buckets");
  return wanted ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt;
}

}  // namespace ridgeline::cli

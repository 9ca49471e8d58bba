#include "workload/traces/request_columns.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/reader.hpp"
#include "core/text.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kAllNames = "arrival_s, input_tokens, output_tokens";

}  // namespace

std::optional<RequestColumns::Column> RequestColumns::find(const TraceLine& line,
                                                           std::string_view piece,
                                                           Seen& seen) {
  const auto* const at = std::find(kNames.begin(), kNames.end(), piece);
  if (at == kNames.end()) {
    const std::vector<std::string> names(kNames.begin(), kNames.end());
    const auto meant = core::nearest(piece, names);
    line.problem("",
                 piece,
                 fmt::format("the unknown name {}", core::quote(piece)),
                 kAllNames,
                 meant ? fmt::format("did you mean '{}'?", *meant) : std::string());
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(at - kNames.begin());
  if (seen[index]) {
    line.problem(*at, piece, "this name twice", "it once");
    return std::nullopt;
  }
  seen[index] = true;
  return static_cast<Column>(index);
}

bool RequestColumns::all_seen(const TraceLine& line, const Seen& seen) {
  bool all = true;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!seen[i]) {
      line.problem(kNames[i], line.text(), fmt::format("no '{}'", kNames[i]), kAllNames);
      all = false;
    }
  }
  return all;
}

bool RequestColumns::read(const TraceLine& line,
                          Column column,
                          std::string_view cell,
                          TraceRow& row) {
  switch (column) {
    case Column::kArrival:
      return read_seconds(line, kNames[0], cell, row.arrival);
    case Column::kInputTokens:
      return read_tokens(line, kNames[1], cell, row.input_tokens);
    case Column::kOutputTokens:
      return read_tokens(line, kNames[2], cell, row.output_tokens);
  }
  return false;
}

}  // namespace ridgeline::workload

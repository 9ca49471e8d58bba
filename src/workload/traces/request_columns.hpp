#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {

/// The columns of our own trace formats, shared by the CSV and the JSON lines.
struct RequestColumns {
  enum class Column : std::uint8_t { kArrival, kInputTokens, kOutputTokens };
  static constexpr std::array<std::string_view, 3> kNames = {
      "arrival_s", "input_tokens", "output_tokens"};
  using Seen = std::array<bool, kNames.size()>;

  /// The column that `piece` of the line names, marked as seen. An unknown or repeated name is a
  /// problem.
  static std::optional<Column> find(const TraceLine& line, std::string_view piece, Seen& seen);
  /// Every column that was not seen is a problem.
  static bool all_seen(const TraceLine& line, const Seen& seen);
  /// Reads a cell into its place in the row.
  static bool read(const TraceLine& line, Column column, std::string_view cell, TraceRow& row);
};

}  // namespace ridgeline::workload

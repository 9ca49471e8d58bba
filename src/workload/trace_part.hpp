#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {

/// Which part of a trace is wanted. Whole groups are kept or left out, by their first request.
struct TracePart {
  /// Groups before `start` are left out, and time counts from it; groups at `end` or later are left
  /// out. Both on the trace's own clock. Stages that wait for others are not cut.
  core::Duration start = {};
  std::optional<core::Duration> end = {};
  /// The requests of these alone; empty: of all.
  std::vector<std::string> tenants = {};
  std::vector<std::string> models = {};
  /// The settings that `start` and `end` come from, for errors, and where they stand.
  std::string start_setting = "workload.trace_start";
  std::string end_setting = "workload.trace_end";
  core::Location where = {};

  [[nodiscard]] bool is_whole() const {
    return start == core::Duration() && !end && tenants.empty() && models.empty();
  }
};

/// The names between commas; none of an empty text.
[[nodiscard]] std::vector<std::string> split_names(std::string_view text);

/// The part of a stream. One of which nothing is left ends with an error that says what there is.
[[nodiscard]] std::unique_ptr<ItemStream> part_of(std::unique_ptr<ItemStream> stream,
                                                  TracePart part);

}  // namespace ridgeline::workload

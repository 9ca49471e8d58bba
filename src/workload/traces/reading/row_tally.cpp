#include "workload/traces/reading/row_tally.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {

void RowTally::bad_row() {
  if (!skip_) {
    return;
  }
  ++dropped_;
  if (listed_.size() < kMaxTraceProblems && !errors_.empty()) {
    listed_.push_back(std::move(errors_.front()));
  }
  errors_.clear();
}

core::Warnings RowTally::warnings() const {
  core::Warnings warnings;
  if (dropped_ == 0) {
    return warnings;
  }
  warnings.push_back({.code = "W-rows-dropped",
                      .message = fmt::format("{} bad {} {} dropped; the first problem of {}:",
                                             dropped_,
                                             core::plural("row", dropped_),
                                             dropped_ == 1 ? "was" : "were",
                                             dropped_ == 1 ? "it" : "each of the first"),
                      .hint = "--skip-bad-rows"});
  for (const core::Error& error : listed_) {
    warnings.push_back({.code = "W-row-dropped", .message = core::to_string(error)});
  }
  return warnings;
}

}  // namespace ridgeline::workload

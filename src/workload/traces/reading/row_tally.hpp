#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {

/// Keeps the account of the rows that cannot be read: refused, or dropped, counted and listed where
/// the user said so (--skip-bad-rows).
class RowTally {
 public:
  explicit RowTally(bool skip_bad_rows) : skip_(skip_bad_rows) {}

  /// Where the problems of the next row are noted.
  [[nodiscard]] core::Errors& errors() { return errors_; }
  [[nodiscard]] const core::Errors& errors() const { return errors_; }
  [[nodiscard]] bool skips() const { return skip_; }
  /// A row whose problems stand in errors().
  void bad_row();
  /// Whether more rows are of interest: no more than kMaxTraceProblems problems are reported.
  [[nodiscard]] bool goes_on() const { return skip_ || errors_.size() < kMaxTraceProblems; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }
  /// How many rows were dropped, and what was wrong with the first kMaxTraceProblems of them.
  [[nodiscard]] core::Warnings warnings() const;

 private:
  bool skip_;
  core::Errors errors_;
  core::Errors listed_;
  std::int64_t dropped_ = 0;
};

}  // namespace ridgeline::workload

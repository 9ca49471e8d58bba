#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {

/// Problems noted in one trace; the next ones would seldom tell more.
inline constexpr std::size_t kMaxTraceProblems = 20;

/// One line of a trace and the place where its problems are noted.
class TraceLine {
 public:
  TraceLine(std::string_view text,
            const std::string& file,
            std::int64_t number,
            core::Errors& errors)
      : text_(text), file_(&file), number_(number), errors_(&errors) {}

  [[nodiscard]] std::string_view text() const { return text_; }

  /// Notes "found X, expected Y" at a byte of the line (from 0), for a column by name (may be
  /// empty). Beyond kMaxTraceProblems nothing more is noted.
  void problem(std::string_view column,
               std::size_t at,
               std::string_view found,
               std::string_view expected,
               std::string hint = {}) const;
  /// The same, at the start of a piece of text().
  void problem(std::string_view column,
               std::string_view piece,
               std::string_view found,
               std::string_view expected,
               std::string hint = {}) const;

 private:
  std::string_view text_;
  const std::string* file_;
  std::int64_t number_;
  core::Errors* errors_;
};

/// Each reads a whole cell of `line`, which must be a part of its text; on a problem it notes it
/// and returns false.
///
/// A number of tokens: decimal digits, 1 to kMaxTokensPerRequest.
bool read_tokens(const TraceLine& line,
                 std::string_view column,
                 std::string_view cell,
                 core::Tokens& tokens);
/// A time in seconds, 0 to kLatestArrival: digits, optionally a point and decimals, optionally an
/// exponent. Exact: a value that is not a whole number of picoseconds (12 decimals) is a problem.
bool read_seconds(const TraceLine& line,
                  std::string_view column,
                  std::string_view cell,
                  core::Duration& time);

/// The same time as a decimal number of seconds, exactly.
std::string seconds_text(core::Duration time);

}  // namespace ridgeline::workload

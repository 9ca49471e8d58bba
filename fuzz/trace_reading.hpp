#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "workload/limits.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace_reader.hpp"

namespace ridgeline::workload {

struct Reading {
  std::vector<TraceRow> rows;
  core::Errors errors;
};

inline Reading read_trace(const std::string& text, const TraceFormat* format, std::size_t block) {
  Reading reading;
  auto reader = TraceReader::open(std::make_unique<std::istringstream>(text), "t", format, block);
  if (!reader) {
    reading.errors = reader.error();
    RIDGELINE_CHECK(!reading.errors.empty(), "a failure without an error");
    return reading;
  }
  TraceRow row;
  for (auto status = reader->next(row); status != TraceReader::Status::kEnd;
       status = reader->next(row)) {
    if (status == TraceReader::Status::kRow) {
      reading.rows.push_back(row);
    }
  }
  reading.errors = reader->errors();
  RIDGELINE_CHECK(!reading.rows.empty() || !reading.errors.empty(), "neither rows nor errors");
  return reading;
}

inline void check_reading(const Reading& reading) {
  core::Duration last;
  for (const TraceRow& row : reading.rows) {
    RIDGELINE_CHECK(row.arrival >= last && row.arrival <= kLatestArrival, "arrival");
    for (const core::Tokens tokens : {row.input_tokens, row.output_tokens}) {
      RIDGELINE_CHECK(tokens.value() >= 1 && tokens.value() <= kMaxTokensPerRequest, "tokens");
    }
    last = row.arrival;
  }
  // One more says why reading stopped.
  RIDGELINE_CHECK(reading.errors.size() <= kMaxTraceProblems + 1, "too many problems");
  for (const core::Error& error : reading.errors) {
    const std::string line = core::to_string(error);
    RIDGELINE_CHECK(line.find('\n') == std::string::npos, "an error of several lines");
    RIDGELINE_CHECK(core::valid_utf8_prefix(line) == line.size(), "an error that is not text");
  }
}

/// Reads hostile bytes as one format and by detection. Whatever they are: rows stay within their
/// limits, each problem is one line of text, and the size of the buffer shows in nothing but the
/// longest line.
inline void fuzz_trace(const TraceFormat& format, const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  // A block that holds the whole text: the usual 256 KiB would cost more than the reading.
  const std::size_t large_block = size + 1;
  check_reading(read_trace(text, nullptr, large_block));
  const Reading large = read_trace(text, &format, large_block);
  check_reading(large);
  constexpr std::size_t kSmallBlock = 128;
  const Reading small = read_trace(text, &format, kSmallBlock);
  check_reading(small);
  RIDGELINE_CHECK(small.rows.size() <= large.rows.size(), "a small block reads more");
  for (std::size_t i = 0; i < small.rows.size(); ++i) {
    RIDGELINE_CHECK(small.rows[i].arrival == large.rows[i].arrival &&
                        small.rows[i].input_tokens == large.rows[i].input_tokens &&
                        small.rows[i].output_tokens == large.rows[i].output_tokens,
                    "a small block reads other rows");
  }
}

}  // namespace ridgeline::workload

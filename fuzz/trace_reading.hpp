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
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {

struct Reading {
  std::vector<Item> items;
  core::Errors errors;
};

inline Reading read_trace(const std::string& text, const ReadOptions& options) {
  Reading reading;
  auto stream = open_items(
      unpacked(make_plain_input(std::make_unique<std::istringstream>(text))), "t", options);
  if (!stream) {
    reading.errors = stream.error();
    RIDGELINE_CHECK(!reading.errors.empty(), "a failure without an error");
    return reading;
  }
  // Descriptions generate without end.
  constexpr std::size_t kMostItems = 2000;
  Item item;
  while (reading.items.size() < kMostItems && (*stream)->next(item)) {
    reading.items.push_back(item);
  }
  reading.errors = (*stream)->errors();
  return reading;
}

inline void check_reading(const Reading& reading) {
  ItemList list;
  for (const Item& item : reading.items) {
    RIDGELINE_CHECK(item.arrival >= core::Duration() && item.arrival <= kLatestArrival, "arrival");
    for (const core::Tokens tokens : {item.input_tokens, item.output_tokens}) {
      RIDGELINE_CHECK(tokens.value() >= 1, "tokens");
    }
    list.stages.resize(
        std::max<std::size_t>(list.stages.size(), static_cast<std::size_t>(item.stage) + 1));
    list.items.push_back(item);
  }
  RIDGELINE_CHECK(keeps_group_rules(list), "groups");
  // One more says why reading stopped.
  RIDGELINE_CHECK(reading.errors.size() <= kMaxTraceProblems + 1, "too many problems");
  for (const core::Error& error : reading.errors) {
    const std::string line = core::to_string(error);
    RIDGELINE_CHECK(line.find('\n') == std::string::npos, "an error of several lines");
    RIDGELINE_CHECK(core::valid_utf8_prefix(line) == line.size(), "an error that is not text");
  }
}

/// Reads hostile bytes as one format and by detection, strictly and without their bad rows.
/// Whatever they are: items stay within their limits and the rules of groups, and each problem is
/// one line of text.
inline void fuzz_trace(const TraceFormat& format, const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  // A block that holds the whole text: the usual 256 KiB would cost more than the reading.
  const LineLimits limits{.block_bytes = size + 1, .line_bytes = size + 1};
  check_reading(read_trace(text, {.limits = limits}));
  check_reading(read_trace(text, {.format = &format, .limits = limits}));
  check_reading(read_trace(text,
                           {.format = &format,
                            .skip_bad_rows = true,
                            .session_times = SessionTimes::kAnswered,
                            .limits = limits}));
}

}  // namespace ridgeline::workload

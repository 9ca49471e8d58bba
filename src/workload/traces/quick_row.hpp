#pragma once

#include <cstdint>

#include "workload/item.hpp"
#include "workload/traces/fields.hpp"

namespace ridgeline::workload {

/// What a value of a row means, where that is read the same way in every format.
enum class QuickKind : std::uint8_t {
  kOther,
  kArrival,
  kInputTokens,
  kOutputTokens,
  kBlockIds,  ///< A JSON list of hash ids, as mooncake.hpp's read_hash_ids.
};

/// A value with its kind, and the unit of an arrival.
struct QuickValue {
  QuickKind kind = QuickKind::kOther;
  TimeUnit unit = kSecondsUnit;
};

/// Reads a value that starts at `at` into `row`; returns where it ends, or null where it is not of
/// the usual form, in range, and wholly before `end`. kQuickSlack bytes behind `end` are readable.
[[nodiscard]] const char* read_quick(const QuickValue& value,
                                     const char* at,
                                     const char* end,
                                     Item& row);

}  // namespace ridgeline::workload

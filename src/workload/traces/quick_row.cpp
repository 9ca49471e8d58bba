#include "workload/traces/quick_row.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/limits.hpp"
#include "workload/traces/mooncake.hpp"
#include "workload/traces/quick_number.hpp"

namespace ridgeline::workload {
namespace {

/// A picosecond.
constexpr int kQuickTickDecimals = 12;

/// Picoseconds of 10^-(12-i) s, and the most of them that a time may hold.
struct TickScale {
  std::int64_t ticks = 1;
  std::int64_t most = 0;
};
constexpr std::array<TickScale, kQuickTickDecimals + 1> tick_scales() {
  std::array<TickScale, kQuickTickDecimals + 1> scales{};
  std::int64_t ticks = 1;
  for (auto& scale : scales) {
    scale = {.ticks = ticks, .most = kLatestArrival.count() / ticks};
    ticks *= 10;
  }
  return scales;
}
constexpr auto kTickScales = tick_scales();

const char* read_arrival(const char* at, int unit_digits, core::Duration& time) {
  const QuickNumber number = quick_number(at);
  const int shift = kQuickTickDecimals - unit_digits - number.decimals;
  // Finer than a picosecond has to be rounded.
  if (number.size == 0 || shift < 0) [[unlikely]] {
    return nullptr;
  }
  const TickScale& scale = kTickScales[static_cast<std::size_t>(shift)];
  if (number.digits > scale.most) [[unlikely]] {
    return nullptr;
  }
  time = core::Duration::ticks(number.digits * scale.ticks);
  return at + number.size;
}

const char* read_count(const char* at, core::Tokens& tokens) {
  const std::int64_t count = quick_count(at);
  if (count < 1) [[unlikely]] {
    return nullptr;
  }
  static_assert(kMaxTokensPerRequest >= 9'999'999, "seven digits are in range");
  tokens = core::Tokens(count);
  return at;
}

const char* read_block_ids(const char* at, const char* end, Item& row) {
  if (*at != '[') {
    return nullptr;
  }
  ++at;
  for (;;) {
    const char* const first = at;
    std::int64_t id = quick_count(at);
    if (id < 0) [[unlikely]] {
      const QuickNumber longer = quick_number(at);
      id = longer.size > 0 && longer.decimals == 0 ? longer.digits : -1;
      at += longer.size;
    }
    if (first >= end || id < 0 || (*first == '0' && at - first > 1)) [[unlikely]] {
      return nullptr;
    }
    row.prompt.push_back({.content = static_cast<std::uint64_t>(id), .length = kMooncakeBlock});
    if (*at != ',') {
      return *at == ']' ? at + 1 : nullptr;
    }
    at += at[1] == ' ' ? 2 : 1;
  }
}

}  // namespace

const char* read_quick(const QuickValue& value, const char* at, const char* end, Item& row) {
  if (at >= end) {
    return nullptr;
  }
  switch (value.kind) {
    case QuickKind::kArrival:
      return read_arrival(at, value.unit.digits, row.arrival);
    case QuickKind::kInputTokens:
      return read_count(at, row.input_tokens);
    case QuickKind::kOutputTokens:
      return read_count(at, row.output_tokens);
    case QuickKind::kBlockIds:
      return read_block_ids(at, end, row);
    case QuickKind::kOther:
      break;
  }
  return nullptr;
}

}  // namespace ridgeline::workload

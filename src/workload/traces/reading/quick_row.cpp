#include "workload/traces/reading/quick_row.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/traces/formats/mooncake.hpp"
#include "workload/traces/reading/quick_four.hpp"
#include "workload/traces/reading/quick_number.hpp"
#include "workload/traces/reading/quick_scan.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::size_t kIdsAtOnce = 64;

/// Ids of at most eight digits, as FourNumbers takes them; false where they are no numbers.
bool add_block_ids(std::array<std::uint64_t, kIdsAtOnce>& texts,
                   std::size_t count,
                   std::vector<domain::Segment>& prompt) {
  for (std::size_t i = count; i % 4 != 0; ++i) {
    texts[i] = 0;
  }
  const std::size_t before = prompt.size();
  prompt.resize(before + (count + 3) / 4 * 4);
  domain::Segment* segment = prompt.data() + before;
  bool sound = true;
  for (std::size_t i = 0; i < count; i += 4) {
    const FourNumbers ids({texts[i], texts[i + 1], texts[i + 2], texts[i + 3]});
    sound = sound && ids.sound();
    for (std::size_t j = 0; j < 4; ++j) {
      segment->content = static_cast<std::uint64_t>(ids[j]);
      segment->length = kMooncakeBlock;
      ++segment;
    }
  }
  prompt.resize(before + count);
  return sound;
}

/// Ids from behind the bracket on, if none has more than eight digits.
const char* read_short_block_ids(const char* at,
                                 const char* end,
                                 std::vector<domain::Segment>& prompt) {
  std::array<std::uint64_t, kIdsAtOnce> texts;
  std::size_t count = 0;
  const char* first = at;
  constexpr std::ptrdiff_t kWindow = 2 * kScanSize;
  for (const char* window = at; window < end; window += kWindow) {
    std::uint64_t marks = std::uint64_t{scan_for(window + kScanSize, ',', ']')} << kScanSize |
                          scan_for(window, ',', ']');
    if (end - window < kWindow) [[unlikely]] {
      marks &= (std::uint64_t{1} << (end - window)) - 1;
    }
    for (; marks != 0; marks &= marks - 1) {
      const char* const mark = window + std::countr_zero(marks);
      const auto size = static_cast<std::size_t>(mark - first);
      if (size - 1 >= kMostOfFour || (*first == '0' && size > 1)) [[unlikely]] {
        return nullptr;
      }
      texts[count] = as_last_digits(first, size);
      ++count;
      if (*mark == ']') {
        return add_block_ids(texts, count, prompt) ? mark + 1 : nullptr;
      }
      if (count == kIdsAtOnce) [[unlikely]] {
        if (!add_block_ids(texts, count, prompt)) {
          return nullptr;
        }
        count = 0;
      }
      first = mark + (mark[1] == ' ' ? 2 : 1);
    }
  }
  return nullptr;
}

/// The same for ids of any number of digits that QuickNumber takes.
const char* read_long_block_ids(const char* at,
                                const char* end,
                                std::vector<domain::Segment>& prompt) {
  while (at < end) {
    const QuickNumber id = quick_number(at);
    if (id.size == 0 || id.decimals != 0 || (*at == '0' && id.size > 1)) {
      return nullptr;
    }
    prompt.push_back({.content = static_cast<std::uint64_t>(id.digits), .length = kMooncakeBlock});
    at += id.size;
    if (*at != ',') {
      return *at == ']' ? at + 1 : nullptr;
    }
    at += at[1] == ' ' ? 2 : 1;
  }
  return nullptr;
}

const char* read_block_ids(const char* at, const char* end, std::vector<domain::Segment>& prompt) {
  if (*at != '[') {
    return nullptr;
  }
  const std::size_t before = prompt.size();
  const char* const behind = read_short_block_ids(at + 1, end, prompt);
  if (behind != nullptr) [[likely]] {
    return behind;
  }
  prompt.resize(before);
  return read_long_block_ids(at + 1, end, prompt);
}

}  // namespace

const char* read_quick(const QuickValue& value, const char* at, const char* end, Item& row) {
  if (at >= end) {
    return nullptr;
  }
  switch (value.kind) {
    case QuickKind::kArrival:
      return read_quick_arrival(at, value.unit.digits, row.arrival);
    case QuickKind::kInputTokens:
      return read_quick_count(at, row.input_tokens);
    case QuickKind::kOutputTokens:
      return read_quick_count(at, row.output_tokens);
    case QuickKind::kBlockIds:
      return read_block_ids(at, end, row.prompt.own());
    case QuickKind::kOther:
    case QuickKind::kClock:
      break;
  }
  return nullptr;
}

}  // namespace ridgeline::workload

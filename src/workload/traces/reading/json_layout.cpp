#include "workload/traces/reading/json_layout.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/quick_batch.hpp"
#include "workload/traces/reading/quick_four.hpp"
#include "workload/traces/reading/quick_number.hpp"
#include "workload/traces/reading/quick_row.hpp"
#include "workload/traces/reading/quick_scan.hpp"

namespace ridgeline::workload {
namespace {

bool same_text(const char* at, const std::string& text) {
  return same_bytes(at, text.data(), text.size());
}

}  // namespace

void JsonLayouts::start(const TraceLine& line) {
  learning_.pieces.clear();
  at_ = line.text().data();
  line_end_ = at_ + line.text().size();
}

void JsonLayouts::member(std::uint32_t key,
                         std::string_view name,
                         const QuickValue& value,
                         const char* begin,
                         const char* end) {
  if (layouts_.size() < kMostLayouts) {
    learning_.pieces.push_back(
        {.text = std::string(at_, begin), .value = value, .key = key, .name = std::string(name)});
    at_ = end;
  }
}

void JsonLayouts::learn() {
  if (layouts_.size() < kMostLayouts) {
    learning_.end = std::string(at_, line_end_);
    note_plain(learning_);
    layouts_.push_back(std::move(learning_));
    learning_ = {};
  }
}

void JsonLayouts::note_plain(Layout& layout) {
  constexpr std::size_t kValues = 3;
  layout.is_plain = layout.pieces.size() == kValues;
  layout.text_size = layout.end.size();
  for (const QuickKind kind :
       {QuickKind::kArrival, QuickKind::kInputTokens, QuickKind::kOutputTokens}) {
    const auto is_it = [kind](const Piece& piece) { return piece.value.kind == kind; };
    layout.is_plain = layout.is_plain && std::ranges::count_if(layout.pieces, is_it) == 1;
  }
  for (const Piece& piece : layout.pieces) {
    layout.text_size += piece.text.size();
    layout.unit_digits =
        piece.value.kind == QuickKind::kArrival ? piece.value.unit.digits : layout.unit_digits;
  }
}

/// A line that is longer than all texts of its layout; returns where it ends, or null.
[[gnu::always_inline]] inline const char* JsonLayouts::read_plain(const Layout& layout,
                                                                  const char* at,
                                                                  QuickRow& row) {
  QuickTime time;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  for (const Piece& piece : layout.pieces) {
    if (!same_text(at, piece.text)) [[unlikely]] {
      return nullptr;
    }
    at += piece.text.size();
    if (has_leading_zero(at)) [[unlikely]] {
      return nullptr;
    }
    at = piece.value.kind == QuickKind::kArrival       ? find_quick_time(at, time)
         : piece.value.kind == QuickKind::kInputTokens ? find_quick_count(at, input)
                                                       : find_quick_count(at, output);
    if (at == nullptr) [[unlikely]] {
      return nullptr;
    }
  }
  const FourNumbers numbers({time.whole, time.decimals, input, output});
  if (!same_text(at, layout.end) || numbers[2] == 0 || numbers[3] == 0 ||
      !quick_ticks(layout.unit_digits, numbers[0], numbers[1], time.decimal_count, row.arrival))
      [[unlikely]] {
    return nullptr;
  }
  row.input_tokens = core::Tokens(numbers[2]);
  row.output_tokens = core::Tokens(numbers[3]);
  return at + layout.end.size();
}

const char* JsonLayouts::read_rows(const char* at,
                                   const char* end,
                                   core::Duration earliest,
                                   QuickBatch& batch) const {
  if (last_ >= layouts_.size() || !layouts_[last_].is_plain) {
    return at;
  }
  const Layout& layout = layouts_[last_];
  const auto text_size = static_cast<std::ptrdiff_t>(layout.text_size);
  const auto rows = batch.room();
  std::size_t count = 0;
  for (; count < rows.size() && end - at > text_size; ++count) {
    // What stands between the texts is shorter than two looks.
    const char* window = at + text_size;
    std::uint32_t marks = scan_for(window, '\n');
    if (marks == 0) {
      window += kScanSize;
      marks = scan_for(window, '\n');
    }
    const char* const newline = window + std::countr_zero(marks);
    QuickRow row;
    const char* const line_end = read_plain(layout, at, row);
    if (line_end == nullptr || line_end + (*line_end == '\r' ? 1 : 0) != newline ||
        *newline != '\n' || newline >= end || row.arrival < earliest) [[unlikely]] {
      break;
    }
    earliest = row.arrival;
    rows[count] = row;
    at = newline + 1;
  }
  batch.add(count);
  return at;
}

}  // namespace ridgeline::workload

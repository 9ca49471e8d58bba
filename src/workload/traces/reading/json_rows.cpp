#include "workload/traces/reading/json_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/quick_row.hpp"

namespace ridgeline::workload {

const char* JsonRowParser::quick_row(const char* at, const char* end, TraceRow& row) {
  const char* const next = layouts_.read(
      at,
      end,
      row,
      [&] { start(row); },
      [&](JsonCursor& json, std::uint32_t key, std::string_view name) {
        return key == kOtherKey ? other(json, name, row) : member(json, key, row);
      });
  if (next == nullptr || finish(TraceLine({}, unnamed_, 0, unheard_), row)) [[likely]] {
    return next;
  }
  unheard_.clear();
  return nullptr;
}

RowStatus JsonRowParser::row(const TraceLine& line, TraceRow& row) {
  if (line.text().empty()) {
    line.problem("", line.text(), "an empty line", "a JSON object");
    return RowStatus::kBad;
  }
  start(row);
  layouts_.start(line);
  JsonCursor json(line);
  std::uint32_t seen = 0;
  bool sound = true;
  std::string_view key;
  for (json.enter('{'); json.next_key(key);) {
    std::size_t index = 0;
    while (index < required_.size() && required_[index] != key) {
      ++index;
    }
    const char* const begin = json.rest().data();
    if (index == required_.size()) {
      sound = other(json, key, row) && sound;
      layouts_.member(kOtherKey, key, other_value(key), begin, json.place());
      continue;
    }
    if ((seen & (1U << index)) != 0) {
      line.problem(required_[index], key, "this name twice", "it once");
      sound = json.skip() && false;
      continue;
    }
    seen |= 1U << index;
    sound = member(json, index, row) && sound;
    layouts_.member(static_cast<std::uint32_t>(index), key, value_of(index), begin, json.place());
  }
  if (!json.at_end()) {
    return RowStatus::kBad;
  }
  for (std::size_t i = 0; i < required_.size(); ++i) {
    if ((seen & (1U << i)) == 0) {
      line.problem(required_[i],
                   line.text(),
                   fmt::format("no '{}'", required_[i]),
                   fmt::format("{}", fmt::join(required_, ", ")));
      sound = false;
    }
  }
  if (sound) {
    layouts_.learn();
  }
  return sound && finish(line, row) ? RowStatus::kRow : RowStatus::kBad;
}

}  // namespace ridgeline::workload

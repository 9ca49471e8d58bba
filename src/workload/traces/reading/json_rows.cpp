#include "workload/traces/reading/json_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {

RowStatus JsonRowParser::row(const TraceLine& line, TraceRow& row) {
  if (line.text().empty()) {
    line.problem("", line.text(), "an empty line", "a JSON object");
    return RowStatus::kBad;
  }
  JsonCursor json(line);
  std::uint32_t seen = 0;
  bool sound = true;
  std::string_view key;
  for (json.enter('{'); json.next_key(key);) {
    std::size_t index = 0;
    while (index < required_.size() && required_[index] != key) {
      ++index;
    }
    if (index == required_.size()) {
      sound = other(json, key, row) && sound;
      continue;
    }
    if ((seen & (1U << index)) != 0) {
      line.problem(required_[index], key, "this name twice", "it once");
      sound = json.skip() && false;
      continue;
    }
    seen |= 1U << index;
    sound = member(json, index, row) && sound;
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
  return sound && finish(line, row) ? RowStatus::kRow : RowStatus::kBad;
}

}  // namespace ridgeline::workload

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/row_tally.hpp"
#include "workload/traces/reading/timed_items.hpp"

namespace ridgeline::workload {

/// Calls `read(line)` for every line of a text that is not empty, until the tally has had enough.
/// `read` notes problems in the tally's errors; a line that did is a bad row.
template <class Read>
void for_each_line(std::string_view text, const std::string& file, RowTally& tally, Read read) {
  for (std::int64_t number = 1; !text.empty() && tally.goes_on(); ++number) {
    std::string_view line_text = text.substr(0, text.find('\n'));
    text.remove_prefix(line_text.size() < text.size() ? line_text.size() + 1 : text.size());
    if (line_text.ends_with('\r')) {
      line_text.remove_suffix(1);
    }
    if (line_text.empty()) {
      continue;
    }
    const std::size_t already = tally.errors().size();
    const TraceLine line(line_text, file, number, tally.errors());
    if (line.is_text()) {
      read(line, number);
    }
    if (tally.errors().size() > already) {
      tally.bad_row();
    }
  }
}

/// What a document gave: its items as a stream, or its problems.
[[nodiscard]] core::Result<std::unique_ptr<ItemStream>> finish_document(
    ItemList list, const TraceDocument& document, const RowTally& tally);

/// A JSON document of the single requests of a run, by a Reader that is made from a line and a
/// tally and has `bool read(JsonCursor&)` and `ItemList take()`. Time counts from the first
/// request.
template <class Reader>
core::Result<std::unique_ptr<ItemStream>> read_run(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  const TraceLine line(document.text, document.path, 1, tally.errors());
  JsonCursor json(line);
  Reader reader(line, tally);
  if (!line.is_text() || !reader.read(json)) {
    return core::fail(tally.errors());
  }
  ItemList list = reader.take();
  settle_arrivals(list.items);
  return finish_document(std::move(list), document, tally);
}

}  // namespace ridgeline::workload

#include "workload/traces/reading/document_lines.hpp"

#include <memory>
#include <utility>

#include "core/result.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {

core::Result<std::unique_ptr<ItemStream>> finish_document(ItemList list,
                                                          const TraceDocument& document,
                                                          const RowTally& tally) {
  if (!tally.errors().empty()) {
    return core::fail(tally.errors());
  }
  if (list.items.empty()) {
    return core::fail(core::Error{.message = "found no request in it, expected at least one",
                                  .where = {.file = document.path}});
  }
  auto dropped = tally.warnings();
  list.warnings.insert(list.warnings.end(), dropped.begin(), dropped.end());
  return make_list_stream(std::move(list));
}

}  // namespace ridgeline::workload

#include "workload/traces/reading/timed_items.hpp"

#include <algorithm>
#include <vector>

#include "core/time.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {

void settle_arrivals(std::vector<Item>& items) {
  std::ranges::stable_sort(items, {}, &Item::arrival);
  if (items.empty()) {
    return;
  }
  const core::Duration first = items.front().arrival;
  for (Item& item : items) {
    item.arrival -= first;
  }
}

}  // namespace ridgeline::workload

#pragma once

#include <vector>

#include "workload/item.hpp"

namespace ridgeline::workload {

/// Sorts single items by their arrival and counts time from the first.
void settle_arrivals(std::vector<Item>& items);

}  // namespace ridgeline::workload

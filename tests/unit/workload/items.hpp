#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {

/// An item that starts a group.
inline Item item_at(double seconds, std::int64_t input = 10, std::int64_t output = 5) {
  Item item;
  item.arrival = *core::Duration::from_seconds(seconds);
  item.input_tokens = core::Tokens(input);
  item.output_tokens = core::Tokens(output);
  return item;
}

/// An item of the same group that waits for some of those before it.
inline Item item_after(std::vector<std::uint32_t> parents, double delay, std::int64_t input = 10) {
  Item item = item_at(0.0, input);
  item.starts_group = false;
  item.parents = std::move(parents);
  item.delay = *core::Duration::from_seconds(delay);
  return item;
}

inline std::unique_ptr<ItemStream> stream_of(std::vector<Item> items,
                                             std::vector<Stage> stages = {Stage{}}) {
  ItemList list;
  list.items = std::move(items);
  list.stages = std::move(stages);
  return make_list_stream(std::move(list));
}

inline std::vector<double> arrivals_of(ItemStream& stream) {
  std::vector<double> seconds;
  Item item;
  while (stream.next(item)) {
    seconds.push_back(item.arrival.to_seconds());
  }
  return seconds;
}

}  // namespace ridgeline::workload

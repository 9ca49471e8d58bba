#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "workload/item.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {

/// An item as a file states it that names what it waits for, in any order.
struct LooseItem {
  Item item;                            ///< Parents are left empty.
  bool is_timed = true;                 ///< `item.arrival` says something.
  std::int64_t name = -1;               ///< What others call it; -1: nothing.
  std::vector<std::int64_t> waits_for;  ///< Names.
  std::int64_t follows = -1;        ///< The item before it in its session, by place in the list.
  bool waits_for_previous = false;  ///< For that one's answer, too.
  std::int64_t row = 0;             ///< Where the file states it, from 1.
};

/// What tells that requests of no session do not stand in the order of their arrival
/// (W-rows-sorted): grouped() sorts them, as it must the turns of sessions that stand side by side.
[[nodiscard]] core::Warnings sorting_warnings(const std::vector<LooseItem>& loose);

/// Puts items into groups: those that wait for each other, or follow each other in a session, stand
/// in one. Groups come by the time of their first item, and items behind those they wait for;
/// output_of(place) in a prompt counts in the loose list and is turned into the place in the group.
/// An item that waits for a name that no item has, for itself in a circle, or that has neither a
/// time nor anything to wait for, is a problem.
[[nodiscard]] std::vector<Item> grouped(std::vector<LooseItem> loose,
                                        const std::string& file,
                                        RowTally& tally);

}  // namespace ridgeline::workload

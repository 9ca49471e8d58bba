#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "cluster/store/eviction.hpp"
#include "cluster/store/policies/policies.hpp"

namespace ridgeline::store {

std::span<const EvictionEntry> evictions() {
  static constexpr auto kEvictions = std::to_array<EvictionEntry>({
      {.name = "lru", .summary = "what was not used for longest goes", .make = make_lru},
      {.name = "arc",
       .summary = "blocks used once and blocks used more often, each with a share that adapts",
       .make = make_arc},
  });
  return kEvictions;
}

const EvictionEntry* find_eviction(std::string_view name) {
  const auto entry = std::ranges::find(evictions(), name, &EvictionEntry::name);
  return entry == evictions().end() ? nullptr : &*entry;
}

}  // namespace ridgeline::store

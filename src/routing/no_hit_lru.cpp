#include "routing/no_hit_lru.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

Scores NoHitLru::scores(bool has_hit) const {
  if (has_hit) {
    return Scores(count_, 0.5);
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count_; ++i) {
    if (std::ranges::find(given_, i) == given_.end()) {
      order.push_back(i);
    }
  }
  order.insert(order.end(), given_.begin(), given_.end());
  Scores scores(count_, 1.0);
  for (std::size_t rank = 0; rank < count_ && count_ > 1; ++rank) {
    scores[order[rank]] = 1.0 - static_cast<double>(rank) / static_cast<double>(count_ - 1);
  }
  return scores;
}

void NoHitLru::give(std::size_t instance) {
  std::erase(given_, instance);
  given_.push_back(instance);
  if (given_.size() > capacity_) {
    given_.erase(given_.begin());
  }
}

}  // namespace ridgeline::routing

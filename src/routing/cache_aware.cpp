#include "routing/cache_aware.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "routing/character_tree.hpp"

namespace ridgeline::routing {
namespace {

std::size_t least_loaded(const std::vector<std::int64_t>& loads, const std::vector<bool>& healthy) {
  std::size_t best = loads.size();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (healthy[i] && (best == loads.size() || loads[i] < loads[best])) {
      best = i;
    }
  }
  RIDGELINE_CHECK(best < loads.size(), "a worker is healthy");
  return best;
}

}  // namespace

std::size_t CacheAware::pick(const Text& text,
                             const std::vector<std::int64_t>& loads,
                             const std::vector<bool>& healthy) {
  tree_.reserve(loads.size());
  const auto [least, most] = std::ranges::minmax(loads);
  const bool apart = most - least > options_.balance_abs &&
                     static_cast<double>(most) > options_.balance_rel * static_cast<double>(least);
  std::size_t chosen = least_loaded(loads, healthy);
  followed_prompt_ = false;
  if (!apart) {
    const CharacterTree::Match match = tree_.match(text);
    const auto length = static_cast<double>(std::max(length_of(text), std::int64_t{1}));
    if (match.worker && static_cast<double>(match.characters) / length > options_.cache_threshold) {
      if (!healthy[*match.worker]) {
        tree_.forget(*match.worker);
        return static_cast<std::size_t>(std::ranges::find(healthy, true) - healthy.begin());
      }
      chosen = *match.worker;
      followed_prompt_ = true;
    }
  }
  tree_.insert(text, chosen);
  return chosen;
}

}  // namespace ridgeline::routing

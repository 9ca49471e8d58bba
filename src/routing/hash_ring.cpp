#include "routing/hash_ring.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Whether the instances are others than those; if so, `ids` become theirs.
bool take_ids(const RouteInput& input, std::vector<core::InstanceId>& ids) {
  if (std::ranges::equal(input.instances, ids, {}, &InstanceView::id)) {
    return false;
  }
  ids.clear();
  for (const InstanceView& view : input.instances) {
    ids.push_back(view.id);
  }
  return true;
}

}  // namespace

void HashRing::assign(const RouteInput& input) {
  if (!take_ids(input, ids_)) {
    return;
  }
  points_.clear();
  for (std::size_t place = 0; place < ids_.size(); ++place) {
    core::RngStream hashes(0, 0, "hash ring", ids_[place].value());
    for (std::size_t point = 0; point < points_each_; ++point) {
      points_.emplace_back(hashes.next_u64(), place);
    }
  }
  std::ranges::sort(points_);
}

std::vector<std::size_t> HashRing::walk(std::uint64_t key) const {
  std::vector<std::size_t> places;
  std::vector<bool> met(ids_.size(), false);
  const std::uint64_t hash = core::RngStream(0, 0, "key on a ring", key).next_u64();
  const auto first =
      std::ranges::lower_bound(points_, hash, {}, &std::pair<std::uint64_t, std::size_t>::first);
  auto at = static_cast<std::size_t>(first - points_.begin());
  for (std::size_t seen = 0; seen < points_.size() && places.size() < ids_.size(); ++seen, ++at) {
    const std::size_t place = points_[at % points_.size()].second;
    if (!met[place]) {
      met[place] = true;
      places.push_back(place);
    }
  }
  return places;
}

void MaglevTable::assign(const RouteInput& input) {
  if (!take_ids(input, ids_)) {
    return;
  }
  const std::size_t free = ids_.size();  // Stands for no place.
  table_.assign(size_, free);
  std::vector<std::pair<std::size_t, std::size_t>> next;  // The next entry and the skip, by place.
  for (const core::InstanceId id : ids_) {
    core::RngStream hashes(0, 0, "maglev", id.value());
    const std::size_t offset = hashes.next_u64() % size_;
    next.emplace_back(offset, hashes.next_u64() % (size_ - 1) + 1);
  }
  for (std::size_t filled = 0; filled < size_;) {
    for (std::size_t place = 0; place < next.size() && filled < size_; ++place) {
      auto& [entry, skip] = next[place];
      while (table_[entry] != free) {
        entry = (entry + skip) % size_;
      }
      table_[entry] = place;
      ++filled;
    }
  }
}

}  // namespace ridgeline::routing

#include "engine/vllm/plain/kv_changes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "core/time.hpp"

namespace ridgeline::engine::vllm::plain {

void KvChanges::set_now(core::SimTime now) {
  RIDGELINE_CHECK(now >= now_, "changes of the prefix cache are noted in order");
  now_ = now;
  while (!order_.empty() && now - order_.front().first > history_.kept) {
    const auto entry = changes_.find(order_.front().second);
    entry->second.pop_front();
    if (entry->second.empty()) {
      changes_.erase(entry);
    }
    order_.pop_front();
  }
}

void KvChanges::note(std::uint64_t hash, std::size_t group, bool came) {
  const Key key(hash, group);
  order_.emplace_back(now_, key);
  Change change{.at = now_, .came = came, .since = {}};
  if (history_.keeps_ages && came) {
    ages_[key] = now_;
  } else if (history_.keeps_ages) {
    const auto age = ages_.find(key);
    change.since = age->second;
    ages_.erase(age);
  }
  changes_[key].push_back(change);
}

bool KvChanges::found(std::uint64_t hash,
                      std::size_t group,
                      const KvLook& look,
                      bool is_there) const {
  RIDGELINE_CHECK(look.as_of >= now_ || now_ - look.as_of <= history_.kept,
                  "the prefix cache is looked up as it was no longer ago than changes are kept");
  const Key key(hash, group);
  const Change* later = nullptr;  // The first change that the look does not know of.
  if (const auto entry = changes_.find(key); entry != changes_.end()) {
    const auto first = std::ranges::find_if(
        entry->second, [&](const Change& change) { return change.at >= look.as_of; });
    later = first == entry->second.end() ? nullptr : &*first;
  }
  if (later != nullptr ? later->came : !is_there) {
    return false;
  }
  if (look.since == core::SimTime()) {
    return true;
  }
  RIDGELINE_CHECK(history_.keeps_ages, "ages are asked for where they are kept");
  return (later != nullptr ? later->since : ages_.at(key)) >= look.since;
}

}  // namespace ridgeline::engine::vllm::plain

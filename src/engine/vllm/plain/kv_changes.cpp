#include "engine/vllm/plain/kv_changes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/check.hpp"
#include "core/time.hpp"

namespace ridgeline::engine::vllm::plain {

void KvChanges::set_now(core::SimTime now) {
  RIDGELINE_CHECK(now >= now_, "changes of the prefix cache are noted in order");
  now_ = now;
  while (!order_.empty() && now - order_.front().first > kept_) {
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
  changes_[key].push_back({.at = now_, .came = came});
}

std::optional<bool> KvChanges::found_at(std::uint64_t hash,
                                        std::size_t group,
                                        core::SimTime as_of) const {
  RIDGELINE_CHECK(as_of >= now_ || now_ - as_of <= kept_,
                  "the prefix cache is looked up as it was no longer ago than changes are kept");
  const auto entry = changes_.find({hash, group});
  if (entry == changes_.end()) {
    return std::nullopt;
  }
  const auto first =
      std::ranges::find_if(entry->second, [&](const Change& change) { return change.at >= as_of; });
  return first == entry->second.end() ? std::nullopt : std::optional(!first->came);
}

}  // namespace ridgeline::engine::vllm::plain

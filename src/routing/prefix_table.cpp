#include "routing/prefix_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "domain/chain.hpp"

namespace ridgeline::routing {

std::vector<std::int64_t> PrefixTable::matches(const std::vector<std::uint64_t>& blocks) const {
  std::vector<std::int64_t> counts(recent_.size());
  for (const std::uint64_t block : blocks) {
    const auto owners = owners_.find(block);
    if (owners == owners_.end()) {
      break;
    }
    for (std::size_t server = 0; server < counts.size(); ++server) {
      counts[server] += owners->second[server] ? 1 : 0;
    }
  }
  return counts;
}

void PrefixTable::add(std::size_t server, const std::vector<std::uint64_t>& blocks) {
  Recent& recent = recent_[server];
  for (const std::uint64_t block : blocks) {
    if (const auto known = recent.places.find(block); known != recent.places.end()) {
      recent.order.splice(recent.order.begin(), recent.order, known->second);
      continue;
    }
    recent.order.push_front(block);
    recent.places.emplace(block, recent.order.begin());
    if (recent.order.size() > capacity_) {
      const std::uint64_t oldest = recent.order.back();
      recent.places.erase(oldest);
      recent.order.pop_back();
      disown(server, oldest);
    }
  }
  for (const std::uint64_t block : blocks) {
    auto& owners = owners_[block];
    owners.resize(recent_.size());
    owners[server] = true;
  }
}

void PrefixTable::disown(std::size_t server, std::uint64_t block) {
  const auto owners = owners_.find(block);
  if (owners == owners_.end()) {
    return;
  }
  owners->second[server] = false;
  if (std::ranges::find(owners->second, true) == owners->second.end()) {
    owners_.erase(owners);
  }
}

std::vector<std::uint64_t> block_keys(const domain::Chain& chain,
                                      std::int64_t prompt_tokens,
                                      std::int64_t block_tokens,
                                      std::int64_t most) {
  std::vector<std::uint64_t> keys;
  const std::int64_t end = std::min(prompt_tokens, most);
  for (std::int64_t begin = 0; begin < end; begin += block_tokens) {
    keys.push_back(chain.key(std::min(begin + block_tokens, end)));
  }
  return keys;
}

}  // namespace ridgeline::routing

#include "engine/vllm/plain/block_tables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/kv_cache.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// More than any number of tokens, with room for sums.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 2;

}  // namespace

void BlockTable::resize(std::int64_t count) {
  blocks.resize(static_cast<std::size_t>(count));
  num_passed = std::min(num_passed, count);
}

BlockManager::BlockManager(const EngineOptions& options)
    : pool_({.num_gpu_blocks = options.num_gpu_blocks,
             .free_unhashed_first = options.profile.free_unhashed_first,
             .num_groups = options.cache_groups.size()}),
      block_size_(options.block_size.value()),
      enable_prefix_caching_(options.enable_prefix_caching),
      frees_in_order_(!options.enable_prefix_caching && options.profile.frees_uncached_in_order),
      drops_last_hit_(options.num_speculative_tokens > 0 &&
                      options.draft_method == DraftMethod::kEagle),
      drops_per_layout_(drops_last_hit_ && options.profile.draft_drops_block_per_layout),
      most_tokens_in_flight_(options.max_num_batched_tokens.value() * steps_in_flight(options)) {
  std::map<std::int64_t, std::size_t> layout_of;
  for (const CacheGroup& group : options.cache_groups) {
    const std::int64_t window = group.sliding_window.value();
    const auto [entry, is_new] = layout_of.try_emplace(window, layouts_.size());
    if (is_new) {
      layouts_.emplace_back();
    }
    layouts_[entry->second].push_back(windows_.size());
    windows_.push_back(window);
  }
  std::stable_partition(layouts_.begin(), layouts_.end(), [this](const auto& layout) {
    return windows_[layout.front()] == 0;
  });
}

/// What a window and the tokens of all steps in flight can touch, and the block that the first of
/// them may begin in the middle of.
std::int64_t BlockManager::most_blocks_of_window(std::int64_t window) const {
  return blocks_for(window - 1 + most_tokens_in_flight_) + 1;
}

/// A window of w tokens needs ceil((w - 1) / block size) cached blocks in a row, searched from the
/// right; a run that reaches the first block may be shorter. What lies left of it is null.
BlockTable BlockManager::find_in_window(const BlockHashes& hashes,
                                        std::size_t group,
                                        std::int64_t most) {
  // Drafting from hidden states gives up the last block found, so one more is asked for.
  const std::int64_t wanted = blocks_for(windows_[group] - 1) + (drops_last_hit_ ? 1 : 0);
  BlockTable table;
  for (std::int64_t i = most - 1; i >= 0; --i) {
    const auto found = pool_.find(hashes[static_cast<std::size_t>(i)], group);
    if (!found) {
      table.blocks.clear();
      continue;
    }
    table.blocks.push_back(*found);
    if (std::ssize(table.blocks) >= wanted) {
      table.num_passed = i;
      break;
    }
  }
  table.blocks.insert(table.blocks.end(), static_cast<std::size_t>(table.num_passed), kNullBlock);
  std::reverse(table.blocks.begin(), table.blocks.end());
  return table;
}

BlockTable BlockManager::find_from_start(const BlockHashes& hashes,
                                         std::size_t group,
                                         std::int64_t most) {
  BlockTable table;
  while (table.size() < most) {
    const auto found = pool_.find(hashes[table.blocks.size()], group);
    if (!found) {
      break;
    }
    table.blocks.push_back(*found);
  }
  return table;
}

/// The longest prefix of at most `most` blocks that all groups of one layout have cached; one block
/// is asked for beyond it where drafting gives one up.
std::vector<BlockTable> BlockManager::find_layout(const BlockHashes& hashes,
                                                  const std::vector<std::size_t>& layout,
                                                  std::int64_t most) {
  std::vector<BlockTable> found(layout.size());
  for (bool shortened = true; shortened;) {
    shortened = false;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      found[i] = windows_[layout[i]] > 0 ? find_in_window(hashes, layout[i], most)
                                         : find_from_start(hashes, layout[i], most);
      const std::int64_t length = found[i].size();
      shortened = shortened || length < most;
      most = length;
    }
  }
  return found;
}

/// Passes over the layouts until none shortens what the others have found. With one layout, or full
/// attention and one other, a single pass is enough, and it is the only one that vLLM makes: with
/// drafts every pass gives up a block.
CachedPrefix BlockManager::find_common(const BlockHashes& hashes, std::int64_t most) {
  CachedPrefix prefix{.num_blocks = most, .groups = std::vector<BlockTable>(windows_.size())};
  const bool one_pass =
      layouts_.size() == 1 || (layouts_.size() == 2 && windows_[layouts_.front().front()] == 0);
  bool first = true;
  for (bool shortened = true; shortened; first = false) {
    const std::int64_t before = prefix.num_blocks;
    for (const auto& layout : layouts_) {
      if (windows_[layout.front()] == 0 && !first) {
        continue;  // Any beginning of what full attention found is good as well.
      }
      auto found = find_layout(hashes, layout, prefix.num_blocks);
      for (std::size_t i = 0; i < layout.size(); ++i) {
        if (drops_per_layout_ && found[i].size() > 0) {
          found[i].resize(found[i].size() - 1);
        }
        prefix.groups[layout[i]] = std::move(found[i]);
      }
      prefix.num_blocks = prefix.groups[layout.front()].size();
    }
    shortened = prefix.num_blocks < before && !one_pass;
  }
  return prefix;
}

CachedPrefix BlockManager::find_prefix(const BlockHashes& hashes, std::int64_t most) {
  if (!enable_prefix_caching_) {
    return {.num_blocks = 0, .groups = std::vector<BlockTable>(windows_.size())};
  }
  CachedPrefix prefix =
      find_common(hashes, std::min(most, static_cast<std::int64_t>(hashes.size())));
  if (drops_last_hit_ && !drops_per_layout_ && prefix.num_blocks > 0) {
    --prefix.num_blocks;
  }
  for (auto& table : prefix.groups) {
    table.resize(prefix.num_blocks);
  }
  return prefix;
}

std::int64_t BlockManager::blocks_needed(const BlockTables& tables,
                                         const CachedPrefix& prefix,
                                         std::int64_t tokens,
                                         bool capped) const {
  std::int64_t needed = 0;
  for (std::size_t group = 0; group < windows_.size(); ++group) {
    std::int64_t wanted = blocks_for(tokens);
    if (capped && windows_[group] > 0) {
      wanted = std::min(wanted, most_blocks_of_window(windows_[group]));
    }
    const std::int64_t held = tables.groups.empty() ? 0 : tables.groups[group].size();
    const std::int64_t adopted = prefix.groups.empty() ? 0 : prefix.groups[group].size();
    needed += std::max<std::int64_t>(wanted - held - adopted, 0);
    if (!prefix.groups.empty()) {
      needed += pool_.num_unheld(prefix.groups[group].blocks);
    }
  }
  return needed;
}

void BlockManager::adopt(BlockTables& tables, CachedPrefix prefix) {
  tables.groups = std::move(prefix.groups);
  tables.groups.resize(windows_.size());
  for (const BlockTable& table : tables.groups) {
    pool_.touch(table.blocks);
  }
  tables.num_hashed = prefix.num_blocks;
}

bool BlockManager::extend(BlockTables& tables, std::int64_t tokens) {
  if (tokens <= tokens_held(tables)) {
    return true;
  }
  const std::int64_t missing = blocks_for(tokens) - tables.groups.front().size();
  if (missing * num_groups() > pool_.num_free()) {
    return false;
  }
  for (BlockTable& table : tables.groups) {
    if (missing > 1) {
      table.blocks.reserve(table.blocks.size() + static_cast<std::size_t>(missing));
    }
    for (std::int64_t i = 0; i < missing; ++i) {
      table.blocks.push_back(pool_.allocate());
    }
  }
  return true;
}

void BlockManager::hash_full_blocks(BlockTables& tables,
                                    const BlockHashes& hashes,
                                    std::int64_t tokens) {
  if (tokens < hashed_below(tables)) {
    return;
  }
  std::vector<core::BlockId> by_group(windows_.size());
  for (const std::int64_t full = tokens / block_size_; tables.num_hashed < full;
       ++tables.num_hashed) {
    const auto i = static_cast<std::size_t>(tables.num_hashed);
    for (std::size_t group = 0; group < windows_.size(); ++group) {
      by_group[group] = tables.groups[group].blocks[i];
    }
    pool_.enter(hashes[i], by_group);
  }
}

void BlockManager::drop_left_of_windows(BlockTables& tables, std::int64_t computed) {
  std::vector<core::BlockId> dropped;
  for (std::size_t group = 0; group < tables.groups.size(); ++group) {
    if (windows_[group] == 0) {
      continue;
    }
    BlockTable& table = tables.groups[group];
    const std::int64_t useless = computed - windows_[group] + 1;
    if (useless < (table.num_passed + 1) * block_size_) {
      continue;
    }
    const std::int64_t passed = std::min(useless / block_size_, table.size());
    // The deepest block first, as in release().
    dropped.clear();
    for (std::int64_t i = passed - 1; i >= table.num_passed; --i) {
      core::BlockId& block = table.blocks[static_cast<std::size_t>(i)];
      dropped.push_back(block);
      block = kNullBlock;
    }
    pool_.release(dropped);
    table.num_passed = passed;
  }
}

void BlockManager::release(BlockTables& tables) {
  // The deepest block first, so that prefixes outlive their extensions.
  for (BlockTable& table : tables.groups) {
    if (!frees_in_order_) {
      std::reverse(table.blocks.begin(), table.blocks.end());
    }
    pool_.release(table.blocks);
  }
  tables = {};
}

std::int64_t BlockManager::tokens_held(const BlockTables& tables) const {
  return tables.groups.front().size() * block_size_;
}

std::int64_t BlockManager::hashed_below(const BlockTables& tables) const {
  return enable_prefix_caching_ ? (tables.num_hashed + 1) * block_size_ : kNever;
}

std::int64_t BlockManager::windows_rest_below(const BlockTables& tables) const {
  std::int64_t below = kNever;
  for (std::size_t group = 0; group < windows_.size(); ++group) {
    if (windows_[group] > 0) {
      below = std::min(below,
                       (tables.groups[group].num_passed + 1) * block_size_ + windows_[group] - 1);
    }
  }
  return below;
}

}  // namespace ridgeline::engine::vllm::plain

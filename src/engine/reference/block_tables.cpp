#include "engine/reference/block_tables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/reference/kv_cache.hpp"

namespace ridgeline::engine::reference {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

BlockManager::BlockManager(const EngineOptions& options)
    : pool_({.num_gpu_blocks = options.num_gpu_blocks,
             .free_unhashed_first = options.profile.free_unhashed_first}),
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
std::vector<core::BlockId> BlockManager::find_in_window(const std::vector<std::uint64_t>& hashes,
                                                        std::size_t group,
                                                        std::int64_t most) const {
  // Drafting from hidden states gives up the last block found, so one more is asked for.
  const std::int64_t wanted = blocks_for(windows_[group] - 1) + (drops_last_hit_ ? 1 : 0);
  std::vector<core::BlockId> blocks(static_cast<std::size_t>(most), kNullBlock);
  std::int64_t run = 0;
  for (std::int64_t i = most - 1; i >= 0; --i) {
    const auto found = pool_.find(hashes[static_cast<std::size_t>(i)], group);
    if (!found) {
      run = 0;
      continue;
    }
    if (run == 0) {
      blocks.resize(static_cast<std::size_t>(i + 1));
    }
    blocks[static_cast<std::size_t>(i)] = *found;
    if (++run >= wanted) {
      std::fill(blocks.begin(), blocks.begin() + i, kNullBlock);
      return blocks;
    }
  }
  blocks.resize(static_cast<std::size_t>(run));
  return blocks;
}

std::vector<core::BlockId> BlockManager::find_from_start(const std::vector<std::uint64_t>& hashes,
                                                         std::size_t group,
                                                         std::int64_t most) const {
  std::vector<core::BlockId> blocks;
  for (std::int64_t i = 0; i < most; ++i) {
    const auto found = pool_.find(hashes[static_cast<std::size_t>(i)], group);
    if (!found) {
      break;
    }
    blocks.push_back(*found);
  }
  return blocks;
}

/// The longest prefix of at most `most` blocks that all groups of one layout have cached; one block
/// is asked for beyond it where drafting gives one up.
std::vector<std::vector<core::BlockId>> BlockManager::find_layout(
    const std::vector<std::uint64_t>& hashes,
    const std::vector<std::size_t>& layout,
    std::int64_t most) const {
  std::vector<std::vector<core::BlockId>> found(layout.size());
  for (bool shortened = true; shortened;) {
    shortened = false;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      found[i] = windows_[layout[i]] > 0 ? find_in_window(hashes, layout[i], most)
                                         : find_from_start(hashes, layout[i], most);
      const auto length = static_cast<std::int64_t>(found[i].size());
      shortened = shortened || length < most;
      most = length;
    }
  }
  return found;
}

/// Passes over the layouts until none shortens what the others have found. With one layout, or full
/// attention and one other, a single pass is enough, and it is the only one that vLLM makes: with
/// drafts every pass gives up a block.
CachedPrefix BlockManager::find_common(const std::vector<std::uint64_t>& hashes,
                                       std::int64_t most) const {
  CachedPrefix prefix{.num_blocks = most,
                      .groups = std::vector<std::vector<core::BlockId>>(windows_.size())};
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
        if (drops_per_layout_ && !found[i].empty()) {
          found[i].pop_back();
        }
        prefix.groups[layout[i]] = std::move(found[i]);
      }
      prefix.num_blocks = static_cast<std::int64_t>(prefix.groups[layout.front()].size());
    }
    shortened = prefix.num_blocks < before && !one_pass;
  }
  return prefix;
}

CachedPrefix BlockManager::find_prefix(const std::vector<std::uint64_t>& hashes,
                                       std::int64_t most) const {
  if (!enable_prefix_caching_) {
    return {.num_blocks = 0, .groups = std::vector<std::vector<core::BlockId>>(windows_.size())};
  }
  CachedPrefix prefix =
      find_common(hashes, std::min(most, static_cast<std::int64_t>(hashes.size())));
  if (drops_last_hit_ && !drops_per_layout_ && prefix.num_blocks > 0) {
    --prefix.num_blocks;
  }
  for (auto& blocks : prefix.groups) {
    blocks.resize(static_cast<std::size_t>(prefix.num_blocks));
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
    const std::int64_t held =
        tables.groups.empty() ? 0 : static_cast<std::int64_t>(tables.groups[group].size());
    const std::int64_t adopted =
        prefix.groups.empty() ? 0 : static_cast<std::int64_t>(prefix.groups[group].size());
    needed += std::max<std::int64_t>(wanted - held - adopted, 0);
    needed += prefix.groups.empty() ? 0 : pool_.num_unheld(prefix.groups[group]);
  }
  return needed;
}

void BlockManager::note_hashed(BlockTables& tables, std::int64_t blocks) const {
  tables.num_hashed = blocks;
  tables.hashed_below = enable_prefix_caching_ ? (blocks + 1) * block_size_ : kNever;
}

void BlockManager::note_windows(BlockTables& tables) const {
  tables.windows_rest_below = kNever;
  for (std::size_t group = 0; group < windows_.size(); ++group) {
    if (windows_[group] > 0) {
      tables.windows_rest_below =
          std::min(tables.windows_rest_below,
                   (tables.num_passed[group] + 1) * block_size_ + windows_[group] - 1);
    }
  }
}

void BlockManager::adopt(BlockTables& tables, CachedPrefix prefix) {
  tables.groups = std::move(prefix.groups);
  tables.groups.resize(windows_.size());
  for (const auto& blocks : tables.groups) {
    pool_.touch(blocks);
  }
  tables.tokens_held = prefix.num_blocks * block_size_;
  note_hashed(tables, prefix.num_blocks);
  tables.num_passed.assign(windows_.size(), 0);
  note_windows(tables);
}

void BlockManager::reserve(BlockTables& tables, std::int64_t tokens) const {
  for (auto& blocks : tables.groups) {
    blocks.reserve(static_cast<std::size_t>(blocks_for(tokens)));
  }
}

bool BlockManager::take_blocks(BlockTables& tables, std::int64_t tokens) {
  std::int64_t missing = 0;  // Of each table: they are equal in length.
  while (tables.tokens_held + missing * block_size_ < tokens) {
    ++missing;
  }
  if (missing * static_cast<std::int64_t>(tables.groups.size()) > pool_.num_free()) {
    return false;
  }
  for (auto& blocks : tables.groups) {
    for (std::int64_t i = 0; i < missing; ++i) {
      blocks.push_back(pool_.allocate());
    }
  }
  tables.tokens_held += missing * block_size_;
  return true;
}

void BlockManager::hash_full_blocks(BlockTables& tables,
                                    const std::vector<std::uint64_t>& hashes,
                                    std::int64_t tokens) {
  if (tokens < tables.hashed_below) {
    return;
  }
  std::int64_t full = tables.num_hashed + 1;
  while ((full + 1) * block_size_ <= tokens) {
    ++full;
  }
  for (std::size_t group = 0; group < windows_.size(); ++group) {
    for (std::int64_t i = tables.num_hashed; i < full; ++i) {
      const core::BlockId block = tables.groups[group][static_cast<std::size_t>(i)];
      if (block != kNullBlock) {
        pool_.set_hash(block, hashes[static_cast<std::size_t>(i)], group);
      }
    }
  }
  note_hashed(tables, full);
}

void BlockManager::move_windows(BlockTables& tables, std::int64_t computed) {
  if (tables.groups.empty()) {
    return;
  }
  for (std::size_t group = 0; group < windows_.size(); ++group) {
    if (windows_[group] == 0) {
      continue;
    }
    auto& blocks = tables.groups[group];
    std::int64_t& passed = tables.num_passed[group];
    const std::int64_t useless = std::max<std::int64_t>(computed - windows_[group] + 1, 0);
    const std::int64_t end =
        std::min(useless / block_size_, static_cast<std::int64_t>(blocks.size()));
    dropped_.clear();
    for (std::int64_t i = end - 1; i >= passed; --i) {
      dropped_.push_back(std::exchange(blocks[static_cast<std::size_t>(i)], kNullBlock));
    }
    pool_.release(dropped_);
    passed = std::max(passed, end);
  }
  note_windows(tables);
}

void BlockManager::release(BlockTables& tables) {
  // The deepest block first, so that prefixes outlive their extensions.
  for (auto& blocks : tables.groups) {
    if (!frees_in_order_) {
      std::reverse(blocks.begin(), blocks.end());
    }
    pool_.release(blocks);
  }
  tables = {};
}

}  // namespace ridgeline::engine::reference

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
#include "engine/vllm/plain/block_hashes.hpp"
#include "engine/vllm/plain/content.hpp"
#include "engine/vllm/plain/kv_cache.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// More than any number of tokens, with room for sums.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 2;

}  // namespace

BlockManager::BlockManager(const EngineOptions& options)
    : pool_({.num_gpu_blocks = options.num_gpu_blocks,
             .free_unhashed_first = frees_unhashed_first(options)}),
      block_size_(options.block_size.value()),
      hash_ahead_(hash_lookahead(options)),
      enable_prefix_caching_(options.enable_prefix_caching),
      frees_in_order_(!options.enable_prefix_caching && options.profile.frees_uncached_in_order),
      drops_last_hit_(options.num_speculative_tokens > 0 &&
                      options.draft_method == DraftMethod::kEagle && hash_ahead_ == 0 &&
                      !options.disable_eagle_block_drop),
      drops_per_layout_(drops_last_hit_ && options.profile.draft_drops_block_per_layout),
      most_tokens_in_flight_(options.max_num_batched_tokens.value() * steps_in_flight(options)),
      profile_(options.profile) {
  profile_.keeps_blocks_to_extend = drops_last_hit_ && profile_.keeps_blocks_to_extend;
  profile_.keeps_below_junction = drops_last_hit_ && profile_.keeps_below_junction;
  std::map<std::pair<std::int64_t, bool>, std::size_t> layout_of;
  for (const CacheGroup& group : options.cache_groups) {
    const std::int64_t window = group.sliding_window.value();
    const auto [entry, is_new] = layout_of.try_emplace({window, group.is_chunk}, layouts_.size());
    if (is_new) {
      layouts_.emplace_back();
    }
    layouts_[entry->second].push_back(kinds_.size());
    kinds_.push_back({.window = window,
                      .is_chunk = group.is_chunk,
                      .keeps_states = group.keeps_states,
                      .kept = options.drafts_read_ahead && window > 0 && !group.keeps_states
                                  ? options.num_speculative_tokens - 1
                                  : 0});
  }
  if (options.prefix_cache_retention_interval) {
    retention_ = options.prefix_cache_retention_interval->value();
  }
  std::stable_partition(layouts_.begin(), layouts_.end(), [this](const auto& layout) {
    return kinds_[layout.front()].window == 0;
  });
}

/// Cached blocks in a row that a hit needs of a window.
std::int64_t BlockManager::blocks_of_hit(std::size_t group) const {
  // Drafting from hidden states gives up the last block found, so one more is asked for.
  return blocks_for(kinds_[group].window - 1) + (drops_last_hit_ ? 1 : 0);
}

/// A window of w tokens needs ceil((w - 1) / block size) cached blocks in a row, searched from the
/// right; a run that reaches the first block may be shorter. What lies left of it is null.
BlockTable BlockManager::find_in_window(const BlockHashes& hashes,
                                        std::size_t group,
                                        std::int64_t most) const {
  const std::int64_t wanted = blocks_of_hit(group);
  BlockTable table;
  for (std::int64_t i = most - 1; i >= 0; --i) {
    const auto found = pool_.find(hashes[static_cast<std::size_t>(i)], group);
    if (!found) {
      table.blocks.clear();
      continue;
    }
    table.blocks.push_back(*found);
    if (std::ssize(table.blocks) >= wanted) {
      table.num_first = i;
      break;
    }
  }
  std::reverse(table.blocks.begin(), table.blocks.end());
  return table;
}

/// The cached blocks of the chunk that goes on at the prefix's end, from its first on; those before
/// the chunk are null.
BlockTable BlockManager::find_in_chunk(const BlockHashes& hashes,
                                       std::size_t group,
                                       std::int64_t most) const {
  const std::int64_t chunk = kinds_[group].window;
  BlockTable table{.num_first = most * block_size_ / chunk * chunk / block_size_};
  while (table.size() < most) {
    const auto found = pool_.find(hashes[static_cast<std::size_t>(table.size())], group);
    if (!found) {
      break;
    }
    table.blocks.push_back(*found);
  }
  return table;
}

/// The row with most in common with a request, among those that begin with a block that the request
/// has too; and how much.
BlockTable BlockManager::find_row(core::BlockId first,
                                  const BlockHashes& hashes,
                                  std::int64_t most) const {
  BlockTable table;
  const auto rows = pool_.rows_from(first);
  const auto agree = [&](const HeldRow& row, std::int64_t i) {
    return row.hashes[static_cast<std::size_t>(i)] == hashes[static_cast<std::size_t>(i)];
  };
  for (const auto& row : rows) {
    const std::int64_t size = std::min(row->size(), most);
    if (size > table.num_first && agree(*row, size - 1)) {
      table.row = row;
      table.num_first = size;
    }
  }
  if (table.num_first == 0 && !rows.empty()) {
    // Blocks behind the first that differs differ too.
    table.row = rows.back();
    table.num_first = 1;
    for (std::int64_t differs = std::min(table.row->size(), most); table.num_first + 1 < differs;) {
      const std::int64_t middle = table.num_first + (differs - table.num_first) / 2;
      (agree(*table.row, middle) ? table.num_first : differs) = middle;
    }
  }
  return table;
}

BlockTable BlockManager::find_from_start(const BlockHashes& hashes,
                                         std::size_t group,
                                         std::int64_t most) const {
  BlockTable table;
  while (table.size() < most) {
    const auto found = pool_.find(hashes[static_cast<std::size_t>(table.size())], group);
    if (!found) {
      break;
    }
    if (table.size() == 0) {
      table = find_row(*found, hashes, most);
      if (table.num_first > 0) {
        continue;
      }
    }
    table.blocks.push_back(*found);
  }
  return table;
}

BlockHashes BlockManager::known_hashes(std::uint64_t first, const TokenSequence& tokens) const {
  const HeldRow* longest = nullptr;
  std::int64_t most = 0;
  for (std::size_t group = 0; group < kinds_.size(); ++group) {
    if (kinds_[group].window > 0) {
      continue;
    }
    const auto found = pool_.find(first, group);
    if (!found) {
      continue;
    }
    for (const auto& row : pool_.rows_from(*found)) {
      const std::int64_t common =
          std::min(row->size(), (tokens.common_tokens(row->tokens) - hash_ahead_) / block_size_);
      if (common > most) {
        longest = row.get();
        most = common;
      }
    }
  }
  return longest == nullptr ? BlockHashes() : longest->hashes.first(static_cast<std::size_t>(most));
}

/// The longest prefix of at most `most` blocks that all groups of one layout have cached; one block
/// is asked for beyond it where drafting gives one up.
std::vector<BlockTable> BlockManager::find_layout(const BlockHashes& hashes,
                                                  const std::vector<std::size_t>& layout,
                                                  std::int64_t most) const {
  std::vector<BlockTable> found(layout.size());
  for (bool shortened = true; shortened;) {
    shortened = false;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      found[i] = kinds_[layout[i]].is_chunk     ? find_in_chunk(hashes, layout[i], most)
                 : kinds_[layout[i]].window > 0 ? find_in_window(hashes, layout[i], most)
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
CachedPrefix BlockManager::find_common(const BlockHashes& hashes, std::int64_t most) const {
  CachedPrefix prefix{.num_blocks = most, .groups = std::vector<BlockTable>(kinds_.size())};
  const bool one_pass = layouts_.size() == 1 ||
                        (layouts_.size() == 2 && kinds_[layouts_.front().front()].window == 0);
  bool first = true;
  for (bool shortened = true; shortened; first = false) {
    const std::int64_t before = prefix.num_blocks;
    for (const auto& layout : layouts_) {
      if (kinds_[layout.front()].window == 0 && !first) {
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
      if (kinds_[layout.front()].window == 0) {
        prefix.num_full = prefix.num_blocks;
      }
    }
    shortened = prefix.num_blocks < before && !one_pass;
  }
  return prefix;
}

/// A request's hashes are made up to the last place that is asked for.
void BlockManager::begin_lookups() {
  struct Chain {
    TokenSequence tokens;
    std::vector<std::uint64_t> hashes;
  };
  std::map<core::RequestId, Chain> chains;
  pool_.begin_lookups([&](const FreeBlock& block) {
    const BlockOwner& owner = block.owner;
    const auto chain =
        chains.try_emplace(owner.request, TokenSequence(owner.request, owner.prompt_tokens)).first;
    auto& [tokens, hashes] = chain->second;
    while (hashes.size() <= block.place) {
      const auto end = static_cast<std::int64_t>(hashes.size() + 1) * block_size_ + hash_ahead_;
      hashes.push_back(tokens.hash_block(hashes.empty() ? owner.lora : hashes.back(),
                                         hashes.empty() ? 0 : end - block_size_,
                                         end));
    }
    return hashes[block.place];
  });
}

CachedPrefix BlockManager::find_prefix(const BlockHashes& hashes, std::int64_t most) const {
  if (!enable_prefix_caching_ || !pool_.has_lookups()) {
    return {.num_blocks = 0, .groups = std::vector<BlockTable>(kinds_.size())};
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
  for (std::size_t group = 0; group < kinds_.size(); ++group) {
    std::int64_t wanted = blocks_for(tokens);
    if (capped && kinds_[group].window > 0) {
      wanted = std::min(wanted, most_blocks_of_window(group));
    }
    const std::int64_t held = tables.groups.empty() ? 0 : tables.groups[group].size();
    const std::int64_t adopted = prefix.groups.empty() ? 0 : prefix.groups[group].size();
    const std::int64_t missing = std::max<std::int64_t>(wanted - held - adopted, 0);
    needed += kinds_[group].keeps_states ? std::min<std::int64_t>(missing, 1) : missing;
    if (!prefix.groups.empty()) {
      const BlockTable& found = prefix.groups[group];
      const bool row_is_free = found.row != nullptr && found.row->holders == 0;
      needed += (row_is_free ? found.num_first : 0) + pool_.num_unheld(found.blocks);
    }
  }
  return needed;
}

void BlockManager::note_hashed(BlockTables& tables, std::int64_t blocks) const {
  tables.num_hashed = blocks;
  tables.hashed_below = enable_prefix_caching_ ? (blocks + 1) * block_size_ : kNever;
}

void BlockManager::note_windows(BlockTables& tables) const {
  tables.windows_rest_below = kNever;
  for (std::size_t group = 0; group < kinds_.size(); ++group) {
    const std::int64_t window = kinds_[group].window;
    if (window > 0) {
      const std::int64_t end = (tables.groups[group].num_first + 1) * block_size_;
      tables.windows_rest_below =
          std::min(tables.windows_rest_below,
                   kinds_[group].is_chunk ? (end + window - 1) / window * window
                                          : end + window - 1 + kinds_[group].kept);
    }
  }
}

/// Takes hold of the blocks of a table, as find_prefix() gave it.
void BlockManager::hold(BlockTable& table, const BlockHashes& hashes, const TokenSequence& tokens) {
  if (table.size() == 0) {
    table.row.reset();
    return;
  }
  if (table.row != nullptr && table.num_first == table.row->size() && table.blocks.empty()) {
    pool_.join(*table.row);
    return;
  }
  const std::int64_t size = table.size();
  table.row = pool_.touch_row(table.ids(), hashes.first(static_cast<std::size_t>(size)), tokens);
  table.num_first = size;
  table.blocks.clear();
}

void BlockManager::adopt(BlockTables& tables,
                         CachedPrefix prefix,
                         const BlockHashes& hashes,
                         const TokenSequence& tokens) {
  tables.junction = prefix.num_full;
  tables.groups = std::move(prefix.groups);
  tables.groups.resize(kinds_.size());
  for (std::size_t group = 0; group < kinds_.size(); ++group) {
    BlockTable& table = tables.groups[group];
    if (kinds_[group].window > 0) {
      pool_.touch(table.blocks);
    } else {
      hold(table, hashes, tokens);
    }
  }
  tables.tokens_held = prefix.num_blocks * block_size_;
  note_hashed(tables, prefix.num_blocks);
  note_windows(tables);
}

void BlockManager::reserve(BlockTables& tables, std::int64_t tokens) const {
  for (auto& table : tables.groups) {
    table.blocks.reserve(
        static_cast<std::size_t>(std::max<std::int64_t>(blocks_for(tokens) - table.num_first, 0)));
  }
}

/// The blocks among these that hold something.
void BlockManager::give_back(std::vector<core::BlockId>& blocks) {
  if (num_state_groups() > 0) {
    std::erase(blocks, kNullBlock);
  }
  pool_.release(blocks);
}

bool BlockManager::take_blocks(BlockTables& tables, std::int64_t tokens) {
  const std::int64_t missing = blocks_missing(tables, tokens);
  const std::int64_t states = num_state_groups();
  const std::int64_t others = std::ssize(tables.groups) - states;
  if (missing * others + std::min<std::int64_t>(missing, 1) * states > pool_.num_free()) {
    return false;
  }
  for (std::size_t group = 0; group < tables.groups.size(); ++group) {
    std::vector<core::BlockId>& blocks = tables.groups[group].blocks;
    if (kinds_[group].keeps_states && missing > 0) {
      blocks.insert(blocks.end(), static_cast<std::size_t>(missing - 1), kNullBlock);
      pool_.allocate(1, blocks);
    } else {
      pool_.allocate(missing, blocks);
    }
  }
  tables.tokens_held += missing * block_size_;
  return true;
}

/// Whether a full block of a group is entered into the prefix cache. With a retention interval, a
/// window's is if a hit could need it that ends at the prompt's last aligned position, at the
/// junction, or at a multiple of the interval. Source: single_type_kv_cache_manager.py at
/// 017e9f4448, 428-475 and 1003-1060. What a junction is, and that a prompt that ends with a block
/// is aligned one block earlier, as its own look-up is, are our reading: no recording shows either.
/// The junction is the end of what full attention had cached of the prompt when it was looked up:
/// there it left what others had, and the next such prompt can hit.
bool BlockManager::stays_findable(const BlockTables& tables,
                                  std::size_t group,
                                  std::int64_t block) const {
  if (!retention_ || kinds_[group].window == 0 || kinds_[group].is_chunk) {
    return true;
  }
  if (kinds_[group].keeps_states) {
    return state_stays_findable(tables, block);
  }
  const std::int64_t blocks = blocks_of_hit(group);
  const auto is_before = [&](std::int64_t end) { return block < end && block >= end - blocks; };
  if (is_before(tables.last_aligned) || is_before(tables.junction) ||
      (profile_.keeps_below_junction && is_before(tables.junction - 1)) ||
      (profile_.keeps_blocks_to_extend && is_before(tables.whole_blocks))) {
    return true;
  }
  if (*retention_ == 0) {
    return false;
  }
  // The first multiple whose aligned position is behind the block.
  const std::int64_t multiple = ((block + 1) * block_size_ + *retention_ - 1) / *retention_;
  return is_before(multiple * *retention_ / block_size_);
}

/// A state's hit needs the one block that ends with it.
bool BlockManager::state_stays_findable(const BlockTables& tables, std::int64_t block) const {
  const std::int64_t end = block + 1 + (drops_last_hit_ ? 1 : 0);
  if (end == tables.last_aligned || block + 1 == tables.junction ||
      (profile_.keeps_below_junction && block + 2 == tables.junction) ||
      (profile_.keeps_blocks_to_extend && end == tables.whole_blocks)) {
    return true;
  }
  const std::int64_t apart = *retention_ / block_size_;
  return *retention_ > 0 && (apart <= 1 || (block + 1) % apart == 0);
}

bool BlockManager::ends_with_new_state(const CachedPrefix& prefix,
                                       const BlockHashes& hashes) const {
  return prefix.num_blocks > 0 && num_state_groups() > 0 &&
         std::ranges::find(new_states_, hashes[static_cast<std::size_t>(prefix.num_blocks - 1)]) !=
             new_states_.end();
}

void BlockManager::renew_last_state(const BlockTables& tables,
                                    const BlockHashes& hashes,
                                    std::int64_t tokens) {
  const std::int64_t last = tables.last_aligned;
  if (!profile_.renews_last_state || last == 0 || tokens / block_size_ != last) {
    return;
  }
  for (std::size_t group = 0; group < kinds_.size(); ++group) {
    if (kinds_[group].keeps_states && tables.groups[group][last - 1] != kNullBlock) {
      new_states_.push_back(hashes[static_cast<std::size_t>(last - 1)]);
    }
  }
}

void BlockManager::hash_full_blocks(core::RequestId request,
                                    BlockTables& tables,
                                    const BlockHashes& hashes,
                                    std::int64_t tokens) {
  if (tokens < tables.hashed_below) {
    return;
  }
  std::int64_t full = tables.num_hashed + 1;
  while ((full + 1) * block_size_ <= tokens) {
    ++full;
  }
  for (std::size_t group = 0; pool_.has_lookups() && group < kinds_.size(); ++group) {
    std::int64_t told = tables.num_hashed;
    for (std::int64_t i = tables.num_hashed; i < full; ++i) {
      const core::BlockId block = tables.groups[group][i];
      if (block != kNullBlock && stays_findable(tables, group, i)) {
        pool_.set_hash(block, hashes[static_cast<std::size_t>(i)], group);
        if (kinds_[group].keeps_states) {
          new_states_.push_back(hashes[static_cast<std::size_t>(i)]);
        }
      } else {
        tell_stored(request, hashes, told, i);
        told = i + 1;
      }
    }
    tell_stored(request, hashes, told, full);
  }
  note_hashed(tables, full);
}

/// The blocks from `begin` to `end`, less the latter, are in the prefix cache.
void BlockManager::tell_stored(core::RequestId request,
                               const BlockHashes& hashes,
                               std::int64_t begin,
                               std::int64_t end) {
  if (events_ == nullptr || begin >= end) {
    return;
  }
  std::vector<std::uint64_t> stored;
  for (std::int64_t i = begin; i < end; ++i) {
    stored.push_back(hashes[static_cast<std::size_t>(i)]);
  }
  events_->on_stored({.request = request,
                      .first = begin,
                      .hashes = stored,
                      .parent = begin == 0
                                    ? std::nullopt
                                    : std::optional(hashes[static_cast<std::size_t>(begin - 1)])});
}

void BlockManager::hold(const BlockTables& tables, const BlockHashes& hashes) {
  for (std::size_t group = 0; group < tables.groups.size(); ++group) {
    const BlockTable& table = tables.groups[group];
    for (std::int64_t i = table.num_first; i < table.size(); ++i) {
      pool_.hold(table[i]);
      if (i < tables.num_hashed && stays_findable(tables, group, i)) {
        pool_.set_hash(table[i], hashes[static_cast<std::size_t>(i)], group);
      }
    }
  }
}

void BlockManager::move_windows(BlockTables& tables,
                                const BlockHashes& hashes,
                                std::int64_t computed) {
  if (tables.groups.empty()) {
    return;
  }
  for (std::size_t group = 0; group < kinds_.size(); ++group) {
    if (kinds_[group].window == 0) {
      continue;
    }
    BlockTable& table = tables.groups[group];
    const std::int64_t passed =
        std::min(kinds_[group].useless(computed) / block_size_, table.size()) - table.num_first;
    if (passed <= 0) {
      continue;
    }
    const auto end = table.blocks.begin() + passed;
    if (pool_.has_lookups()) {
      dropped_.assign(std::make_reverse_iterator(end), table.blocks.rend());
      give_back(dropped_);
    } else {
      pool_.release_unsought(
          {.blocks = {table.blocks.begin(), end},
           .first = table.num_first,
           .num_hashed = tables.num_hashed,
           .hashes = hashes,
           .owner = tables.owner,
           .group = group},
          false,
          [&](std::int64_t block) { return stays_findable(tables, group, block); });
    }
    table.blocks.erase(table.blocks.begin(), end);
    table.num_first += passed;
  }
  note_windows(tables);
}

void BlockManager::release(BlockTables& tables, const BlockHashes& hashes) {
  // The deepest block first, so that prefixes outlive their extensions.
  for (std::size_t group = 0; group < tables.groups.size(); ++group) {
    BlockTable& table = tables.groups[group];
    if (!pool_.has_lookups()) {
      pool_.release_unsought(
          {.blocks = table.blocks,
           .first = table.num_first,
           .num_hashed = tables.num_hashed,
           .hashes = hashes,
           .owner = tables.owner,
           .group = group},
          frees_in_order_,
          [&](std::int64_t block) { return stays_findable(tables, group, block); });
      continue;
    }
    if (!frees_in_order_) {
      std::reverse(table.blocks.begin(), table.blocks.end());
    }
    give_back(table.blocks);
    if (table.row != nullptr) {
      pool_.leave(table.row);
    }
  }
  tables = {};
}

}  // namespace ridgeline::engine::vllm::plain

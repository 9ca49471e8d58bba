#include "engine/vllm/fast/prefix_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <tsl/robin_map.h>

#include "core/check.hpp"
#include "engine/vllm/fast/block_ids.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

/// Keys are hashes already.
struct KeyHash {
  std::size_t operator()(std::uint64_t key) const { return key; }
};

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

}  // namespace

struct PrefixCache::Index {
  tsl::robin_map<std::uint64_t, ExtentIndex, KeyHash> oldest;

  [[nodiscard]] ExtentIndex find(std::uint64_t key) const {
    const auto entry = oldest.find(key);
    return entry == oldest.end() ? kNowhere : entry->second;
  }
};

PrefixCache::PrefixCache(const Options& options, const Keyed& keyed)
    : block_size_(options.block_size.value()),
      caching_(options.enable_prefix_caching),
      listed_(options.enable_prefix_caching || options.keep_ids),
      free_unhashed_first_(options.free_unhashed_first),
      last_block_first_(options.enable_prefix_caching || !options.frees_uncached_in_order),
      num_usable_(options.num_gpu_blocks.value() - 1),
      num_free_(0),
      keyed_(keyed),
      rows_(1),
      index_(std::make_unique<Index>()) {
  RIDGELINE_CHECK(num_usable_ >= 0, "prefix cache: the pool has its null block");
  RIDGELINE_CHECK(block_size_ > 0, "prefix cache: a block holds at least one token");
  if (listed_) {
    add_empty(num_usable_, kNone);
  } else {
    ++reasons_to_take_now_;
    num_free_ = num_usable_;
  }
  if (options.keep_ids && num_usable_ > 0) {
    ++reasons_to_take_now_;
    ids_ = std::make_unique<BlockIds>(num_usable_, rows_[kHead].next);
  }
}

PrefixCache::~PrefixCache() = default;

PrefixCache::ChainIndex PrefixCache::take_chain() {
  ChainIndex index = static_cast<ChainIndex>(chains_.size());
  if (spare_chains_.empty()) {
    chains_.emplace_back();
  } else {
    index = spare_chains_.back();
    spare_chains_.pop_back();
  }
  chains_[index].users = 1;
  return index;
}

void PrefixCache::drop_chain(ChainIndex chain) {
  RIDGELINE_CHECK(chain < chains_.size() && chains_[chain].users > 0,
                  "prefix cache: a chain is dropped as often as it was taken");
  if (--chains_[chain].users == 0) {
    spare_chains_.push_back(chain);
  }
}

/// The end of the leading blocks that agree. The extent's first block agrees; none from `limit` on
/// is compared.
std::int64_t PrefixCache::match_end(const Chain& chain,
                                    const Extent& extent,
                                    std::int64_t limit) const {
  const Chain& other = chains_[extent.chain].chain;
  const auto agree = [&](std::int64_t block) {
    return &chain == &other || key_of(chain, block) == key_of(other, block);
  };
  if (agree(limit - 1)) {
    return limit;
  }
  std::int64_t known = extent.begin;  // The last block known to agree.
  std::int64_t differs = limit - 1;
  while (differs - known > 1) {
    const std::int64_t middle = known + (differs - known) / 2;
    (agree(middle) ? known : differs) = middle;
  }
  return differs;
}

/// Looks at the block behind all that are known, which the request will fill with its answer.
void PrefixCache::find_answer(const Chain& chain, Match& match) const {
  const std::uint64_t key = key_of(chain, match.blocks);
  const auto goes_on = [&](ExtentIndex index) {
    const Extent& extent = extents_[index];
    const bool grows = extent.owner != kNone;
    const std::int64_t end = grows ? keyed_.keyed_blocks(extent.owner) : extent.end;
    if (key_of(chains_[extent.chain].chain, match.blocks) != key) {
      return;
    }
    match.answer_is_cached = match.answer_is_cached || end > match.blocks;
    if (grows && match.blocks == std::max(end, extent.begin)) {
      match.growing_elsewhere = index;
    }
  };
  if (!match.holds.empty()) {
    goes_on(match.holds.back().extent);
  }
  for (ExtentIndex i = index_->find(key); i != kNone; i = extents_[i].next_equal) {
    goes_on(i);
  }
}

void PrefixCache::find(const Chain& chain,
                       std::int64_t most,
                       std::int64_t full,
                       Match& match) const {
  match.clear();
  if (!caching_) {
    return;
  }
  RIDGELINE_CHECK(most >= 0 && most <= full, "prefix cache: a hit is within the full blocks");
  for (bool found = true; found && match.blocks < full;) {
    found = false;
    const std::uint64_t key = key_of(chain, match.blocks);
    for (ExtentIndex i = index_->find(key); i != kNone && !found; i = extents_[i].next_equal) {
      const Extent& extent = extents_[i];
      const bool grows = extent.owner != kNone;
      const std::int64_t end = grows ? keyed_.keyed_blocks(extent.owner) : extent.end;
      if (end > extent.begin) {
        found = true;
        match.blocks = match_end(chain, extent, std::min(end, full));
        match.holds.push_back({.extent = i, .end = match.blocks});
      }
      if (grows && match.blocks < full && match.blocks == std::max(end, extent.begin) &&
          key_of(chain, match.blocks) == key_of(chains_[extent.chain].chain, match.blocks)) {
        match.growing_elsewhere = i;
      }
    }
  }
  if (prompts_quote_requests_ && match.blocks == full) {
    find_answer(chain, match);
  }
  if (match.blocks > most) {
    match.next_is_cached = true;
    match.blocks = most;
    while (!match.holds.empty() && extents_[match.holds.back().extent].begin >= most) {
      match.holds.pop_back();
    }
    if (!match.holds.empty()) {
      match.holds.back().end = std::min(match.holds.back().end, most);
    }
  }
  for (const Hold& part : match.holds) {
    const Extent& extent = extents_[part.extent];
    if (extent.owner == kNone) {
      const std::int64_t held = extent.held.empty() ? extent.begin : extent.held.back().end;
      match.free_blocks += std::max<std::int64_t>(part.end - held, 0);
    }
  }
  RIDGELINE_CHECK(match.free_blocks <= match.blocks,
                  "prefix cache: blocks on the free list are found");
}

void PrefixCache::adopt(Table& table, Owner owner, const Match& match) {
  table.growing = kNone;
  table.keyed = match.blocks;
  table.single_blocks_until = 0;
  table.own = false;
  table.holds.clear();
  if (!caching_) {
    return;
  }
  for (const Hold& part : match.holds) {
    hold(part.extent, part.end);
    table.holds.push_back(part);
  }
  std::int64_t until = match.next_is_cached ? match.blocks + 1 : 0;
  if (match.growing_elsewhere != kNone || match.answer_is_cached ||
      is_on_single_block_chain(table.chain, match.blocks)) {
    until = std::max(until, single_blocks_end(table));
  }
  begin_single_blocks(table, until);
  if (!enters_single_blocks(table)) {
    table.growing = open(table, owner, table.keyed, 0);
  }
}

void PrefixCache::expect_duplicates(Table& table) {
  const ExtentIndex index = table.growing;
  RIDGELINE_CHECK(index != kNone && extents_[index].owner != kNone,
                  "prefix cache: only an extent that grows stops growing");
  Extent& extent = extents_[index];
  table.keyed = keyed_.keyed_blocks(extent.owner);
  table.growing = kNone;
  begin_single_blocks(table, single_blocks_end(table));
  fill_ids(index, extent.owner, table.keyed);
  extent.end = table.keyed;
  extent.owner = kNone;
  if (extent.end <= extent.begin) {
    forget(index);
    return;
  }
  hold(index, extent.end);
  table.holds.push_back({.extent = index, .end = extent.end});
}

/// The block up to which another request may compute the same content: the end of the shared part
/// of the prompt, or no end once some prompt repeats another request's content.
std::int64_t PrefixCache::single_blocks_end(const Table& table) const {
  return prompts_quote_requests_ ? kForever
                                 : chains_[table.chain].chain.shared_tokens() / block_size_;
}

/// Whether a request that enters single blocks will enter one with this key. Keys are hashes of the
/// whole prefix: a request whose key differs at one block differs at all later blocks.
bool PrefixCache::is_on_single_block_chain(ChainIndex chain, std::int64_t block) const {
  return !single_block_chains_.empty() &&
         std::any_of(single_block_chains_.begin(),
                     single_block_chains_.end(),
                     [&, key = key_of(chains_[chain].chain, block)](ChainIndex other) {
                       return key_of(chains_[other].chain, block) == key;
                     });
}

/// The table enters single blocks up to block `until`, unless these have keys already.
void PrefixCache::begin_single_blocks(Table& table, std::int64_t until) {
  table.single_blocks_until = until;
  if (enters_single_blocks(table)) {
    single_block_chains_.push_back(table.chain);
  }
}

/// Takes the table's chain off the list of chains with single blocks.
void PrefixCache::end_single_blocks(const Table& table) {
  ChainIndex* const place =
      std::find(single_block_chains_.begin(), single_block_chains_.end(), table.chain);
  RIDGELINE_CHECK(place != single_block_chains_.end(),
                  "prefix cache: a table that enters blocks is listed");
  *place = single_block_chains_.back();
  single_block_chains_.pop_back();
}

PrefixCache::ExtentIndex PrefixCache::open(Table& table,
                                           Owner owner,
                                           std::int64_t begin,
                                           std::int64_t end) {
  RIDGELINE_CHECK(table.chain < chains_.size(), "prefix cache: an extent has a chain");
  RIDGELINE_CHECK(begin >= 0 && (owner != kNone || end > begin),
                  "prefix cache: an extent that does not grow has blocks");
  auto index = static_cast<ExtentIndex>(extents_.size());
  if (extents_.empty()) {
    take_pending();
    ++reasons_to_take_now_;
  }
  if (spare_extents_.empty()) {
    extents_.emplace_back();
  } else {
    index = spare_extents_.back();
    spare_extents_.pop_back();
  }
  Extent& extent = extents_[index];
  extent.key = key_of(chains_[table.chain].chain, begin);
  extent.begin = begin;
  extent.end = end;
  extent.chain = table.chain;
  extent.owner = owner;
  extent.next_equal = kNone;
  extent.shallowest = kNone;
  extent.held.clear();
  ++chains_[table.chain].users;
  const auto [entry, inserted] = index_->oldest.insert({extent.key, index});
  if (!inserted) {
    ExtentIndex last = entry->second;
    while (extents_[last].next_equal != kNone) {
      last = extents_[last].next_equal;
    }
    extents_[last].next_equal = index;
  }
  return index;
}

void PrefixCache::forget(ExtentIndex index) {
  Extent& extent = extents_[index];
  RIDGELINE_CHECK(extent.held.empty(), "prefix cache: an extent goes that no request holds");
  const auto entry = index_->oldest.find(extent.key);
  RIDGELINE_CHECK(entry != index_->oldest.end(), "prefix cache: an extent is in the index");
  if (entry->second == index) {
    if (extent.next_equal == kNone) {
      index_->oldest.erase(entry);
    } else {
      entry.value() = extent.next_equal;
    }
  } else {
    ExtentIndex before = entry->second;
    while (extents_[before].next_equal != index) {
      before = extents_[before].next_equal;
    }
    extents_[before].next_equal = extent.next_equal;
  }
  drop_chain(extent.chain);
  spare_extents_.push_back(index);
}

void PrefixCache::set_keyed(Table& table, Owner owner, std::int64_t keyed) {
  if (!caching_ || keyed <= table.keyed) {
    return;
  }
  RIDGELINE_CHECK(table.growing == kNone || extents_[table.growing].owner == owner,
                  "prefix cache: an extent grows with its owner");
  if (table.growing == kNone && !table.own) {
    while (table.keyed < std::min(keyed, table.single_blocks_until)) {
      const ExtentIndex single = open(table, kNone, table.keyed, table.keyed + 1);
      fill_ids(single, owner, table.keyed + 1);
      hold(single, table.keyed + 1);
      table.holds.push_back({.extent = single, .end = table.keyed + 1});
      ++table.keyed;
      if (!enters_single_blocks(table)) {
        end_single_blocks(table);
      }
    }
    if (!enters_single_blocks(table) && prompts_quote_requests_ &&
        is_on_single_block_chain(table.chain, table.keyed)) {
      begin_single_blocks(table, kForever);
      set_keyed(table, owner, keyed);
      return;
    }
    if (!enters_single_blocks(table)) {
      table.growing = open(table, owner, table.keyed, 0);
    }
  }
  table.keyed = keyed;
}

void PrefixCache::release(Table& table, Owner owner, std::int64_t blocks, std::int64_t keyed) {
  if (!listed_) {
    num_free_ += blocks;
    RIDGELINE_CHECK(num_free_ <= num_usable_, "prefix cache: free blocks are within the pool");
    return;
  }
  if (!caching_) {
    add_empty(blocks, owner);
    return;
  }
  set_keyed(table, owner, keyed);
  if (table.growing != kNone) {
    fill_ids(table.growing, owner, table.keyed);
  }
  if (enters_single_blocks(table)) {
    end_single_blocks(table);
  }
  add_empty(blocks - table.keyed, owner);
  if (table.growing != kNone) {
    Extent& extent = extents_[table.growing];
    extent.end = table.keyed;
    extent.owner = kNone;
    const std::int64_t held = extent.held.empty() ? extent.begin : extent.held.back().end;
    add_free(table.growing, held, extent.end);
    if (extent.end == extent.begin) {
      forget(table.growing);
    }
    table.growing = kNone;
  }
  for (std::size_t i = table.holds.size(); i-- > 0;) {
    release_hold(table.holds[i].extent, table.holds[i].end);
  }
  table.holds.clear();
  RIDGELINE_CHECK(num_free_ <= num_usable_, "prefix cache: free blocks are within the pool");
}

void PrefixCache::hold(ExtentIndex index, std::int64_t end) {
  Extent& extent = extents_[index];
  RIDGELINE_CHECK(end > extent.begin && (extent.owner != kNone || end <= extent.end),
                  "prefix cache: a hold ends within its extent");
  if (extent.owner != kNone) {
    fill_ids(index, extent.owner, end);
  } else {
    while (extent.shallowest != kNone && rows_[extent.shallowest].begin < end) {
      FreeRow& range = rows_[extent.shallowest];
      const std::int64_t upto = std::min(range.end, end);
      num_free_ -= upto - range.begin;
      range.begin = upto;
      if (range.begin < range.end) {
        break;
      }
      const Row emptied = extent.shallowest;
      extent.shallowest = range.deeper_or_owner;
      unlink(emptied);
    }
  }
  auto place = std::lower_bound(
      extent.held.begin(), extent.held.end(), end, [](const HoldCount& count, std::int64_t at) {
        return count.end < at;
      });
  if (place == extent.held.end() || place->end != end) {
    place = extent.held.insert(place, {.end = end, .holders = 0});
  }
  ++place->holders;
  RIDGELINE_CHECK(num_free_ >= 0, "prefix cache: blocks held come off the free list once");
}

void PrefixCache::release_hold(ExtentIndex index, std::int64_t end) {
  Extent& extent = extents_[index];
  const auto place = std::lower_bound(
      extent.held.begin(), extent.held.end(), end, [](const HoldCount& count, std::int64_t at) {
        return count.end < at;
      });
  RIDGELINE_CHECK(place != extent.held.end() && place->end == end && place->holders > 0,
                  "prefix cache: a hold is given back that was taken");
  if (--place->holders > 0) {
    return;
  }
  const bool deepest = place + 1 == extent.held.end();
  extent.held.erase(place);
  if (deepest && extent.owner == kNone) {
    add_free(index, extent.held.empty() ? extent.begin : extent.held.back().end, end);
  }
}

/// Gives an extent the ids of its blocks up to `end`.
void PrefixCache::fill_ids(ExtentIndex extent, Owner owner, std::int64_t end) {
  if (ids_) {
    ids_->fill(extent, owner, end - extents_[extent].begin);
  }
}

BlockIds::Ids PrefixCache::ids_of(const Table& table, Owner owner) const {
  RIDGELINE_CHECK(keeps_ids(), "prefix cache: block ids are kept");
  BlockIds::Ids all;
  for (const Hold& part : table.holds) {
    const BlockIds::Ids& ids = ids_->extent(part.extent);
    all.insert(all.end(), ids.begin(), ids.begin() + (part.end - extents_[part.extent].begin));
  }
  if (table.growing != kNone) {
    const BlockIds::Ids& ids = ids_->extent(table.growing);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  all.insert(all.end(), ids_->tail(owner).begin(), ids_->tail(owner).end());
  return all;
}

}  // namespace ridgeline::engine::vllm::fast

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "engine/kv_events.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/block_hashes.hpp"
#include "engine/vllm/plain/content.hpp"
#include "engine/vllm/plain/kv_cache.hpp"
#include "engine/vllm/plain/unsought_blocks.hpp"

namespace ridgeline::engine::vllm::plain {

/// Blocks of one cache group in order. The first ones may stand in a row that others hold too, or
/// be null, where a window has moved on.
struct BlockTable {
  std::shared_ptr<HeldRow> row = {};  ///< Holds the first ones; none: they are null.
  std::int64_t num_first = 0;         ///< Number of first blocks; in a request's table, the row.
  std::vector<core::BlockId> blocks = {};  ///< The blocks behind the first ones.

  [[nodiscard]] std::int64_t size() const { return num_first + std::ssize(blocks); }
  [[nodiscard]] core::BlockId operator[](std::int64_t i) const {
    if (i >= num_first) {
      return blocks[static_cast<std::size_t>(i - num_first)];
    }
    return row == nullptr ? kNullBlock : row->blocks[static_cast<std::size_t>(i)];
  }
  /// Keeps the first `count`.
  void resize(std::int64_t count) {
    num_first = std::min(num_first, count);
    blocks.resize(static_cast<std::size_t>(count - num_first));
  }
  /// The ids of all blocks, in order.
  [[nodiscard]] std::vector<core::BlockId> ids() const {
    std::vector<core::BlockId> all;
    all.reserve(static_cast<std::size_t>(size()));
    for (std::int64_t i = 0; i < size(); ++i) {
      all.push_back((*this)[i]);
    }
    return all;
  }
};

/// The blocks of one request, one table per cache group. All tables have the same length. The
/// numbers are those of tokens up to which a call of the BlockManager changes nothing.
struct BlockTables {
  std::vector<BlockTable> groups;
  std::int64_t num_hashed = 0;          ///< First blocks of each table, in the prefix cache.
  std::int64_t tokens_held = 0;         ///< extend() to as many or fewer does nothing.
  std::int64_t hashed_below = 0;        ///< hash_full_blocks() of fewer does nothing.
  std::int64_t windows_rest_below = 0;  ///< drop_left_of_windows() of fewer does nothing.
  /// In blocks: where windows keep what is before them findable, if not everywhere.
  std::int64_t last_aligned = 0;  ///< A look-up of its prompt ends there at the latest.
  std::int64_t whole_blocks = 0;  ///< Blocks of its prompt: a look-up of a longer one ends there.
  std::int64_t junction = 0;      ///< Where it left what full attention had cached.
  BlockOwner owner = {};
};

/// A cached prefix: for each group the blocks of its first `num_blocks` blocks, as far as they are
/// of use. A row in it may be longer.
struct CachedPrefix {
  std::int64_t num_blocks = 0;
  std::int64_t num_full = 0;  ///< Blocks that full attention alone has cached of it, or more.
  std::vector<BlockTable> groups;
};

/// vLLM's KV-cache manager: hands the pool's blocks to requests, group by group, and finds cached
/// prefixes.
class BlockManager {
 public:
  explicit BlockManager(const EngineOptions& options);

  /// Hashes of the first full blocks of `tokens`, of which the very first has the hash `first`, as
  /// far as requests inside have made them.
  [[nodiscard]] BlockHashes known_hashes(std::uint64_t first, const TokenSequence& tokens) const;
  /// The longest prefix of at most `most` blocks that every group has cached.
  [[nodiscard]] CachedPrefix find_prefix(const BlockHashes& hashes, std::int64_t most) const;

  /// A step is about to be formed: states that earlier steps have entered can be found.
  void begin_step() { new_states_.clear(); }
  /// Whether a prefix ends with a state that a request of this step computes.
  [[nodiscard]] bool ends_with_new_state(const CachedPrefix& prefix,
                                         const BlockHashes& hashes) const;
  /// Where the version has it, the prompt's last state counts as computed in this step.
  void renew_last_state(const BlockTables& tables, const BlockHashes& hashes, std::int64_t tokens);
  /// Blocks the pool must give so that the request can hold `tokens` tokens, adopting `prefix`
  /// first. `capped`: from a sliding window no more than it ever holds at a time.
  [[nodiscard]] std::int64_t blocks_needed(const BlockTables& tables,
                                           const CachedPrefix& prefix,
                                           std::int64_t tokens,
                                           bool capped) const;
  /// Takes hold of what find_prefix() gave at this instant for the request with these hashes and
  /// tokens.
  void adopt(BlockTables& tables,
             CachedPrefix prefix,
             const BlockHashes& hashes,
             const TokenSequence& tokens);
  /// Puts memory aside for the tables of a request that will hold `tokens` tokens.
  void reserve(BlockTables& tables, std::int64_t tokens) const;
  /// Gives the request blocks for that many tokens; if the pool has too few, none, and false.
  bool extend(BlockTables& tables, std::int64_t tokens) {
    return tokens <= tables.tokens_held || take_blocks(tables, tokens);
  }
  /// Gives the request the blocks that it was promised (KvCache::promise) for so many tokens. There
  /// is one group.
  void claim(BlockTables& tables, std::int64_t tokens) {
    if (const std::int64_t missing = blocks_missing(tables, tokens); missing > 0) {
      pool_.claim(missing, tables.groups.front().blocks);
      tables.tokens_held += missing * block_size_;
    }
  }
  /// Blocks that extend() takes from the pool, or more where states are kept.
  [[nodiscard]] std::int64_t blocks_to_extend(const BlockTables& tables,
                                              std::int64_t tokens) const {
    return blocks_missing(tables, tokens) * static_cast<std::int64_t>(tables.groups.size());
  }
  /// Enters the full blocks of the first `tokens` tokens of a request into the prefix cache.
  void hash_full_blocks(core::RequestId request,
                        BlockTables& tables,
                        const BlockHashes& hashes,
                        std::int64_t tokens);
  /// Gives back what lies wholly left of the sliding windows once `computed` tokens are.
  void drop_left_of_windows(BlockTables& tables, const BlockHashes& hashes, std::int64_t computed) {
    if (computed >= tables.windows_rest_below) {
      move_windows(tables, hashes, computed);
    }
  }
  void release(BlockTables& tables, const BlockHashes& hashes);
  /// From now on a request may find a block that another has, or had. Call hold() for the tables of
  /// all requests inside. Until then, hashes of what they hold need not be made.
  void begin_lookups();
  /// As StepScheduler::tell_kv_events().
  void tell_kv_events(KvEventSink& sink) {
    events_ = &sink;
    pool_.tell_kv_events(sink);
  }
  void hold(const BlockTables& tables, const BlockHashes& hashes);
  /// Forgets every cached block; refused, with false, while a block is held.
  bool reset_prefix_cache() { return pool_.reset(); }

  [[nodiscard]] const KvCache& pool() const { return pool_; }
  [[nodiscard]] KvCache& pool() { return pool_; }
  [[nodiscard]] std::int64_t block_size() const { return block_size_; }
  [[nodiscard]] std::size_t num_groups() const { return kinds_.size(); }
  /// Whether a look-up gives up the last block that it has found.
  [[nodiscard]] bool drops_last_hit() const { return drops_last_hit_; }
  /// Groups that keep states.
  [[nodiscard]] std::int64_t num_state_groups() const {
    return std::ranges::count(kinds_, true, &Kind::keeps_states);
  }

 private:
  [[nodiscard]] BlockTable find_row(core::BlockId first,
                                    const BlockHashes& hashes,
                                    std::int64_t most) const;
  [[nodiscard]] BlockTable find_from_start(const BlockHashes& hashes,
                                           std::size_t group,
                                           std::int64_t most) const;
  [[nodiscard]] BlockTable find_in_window(const BlockHashes& hashes,
                                          std::size_t group,
                                          std::int64_t most) const;

  [[nodiscard]] BlockTable find_in_chunk(const BlockHashes& hashes,
                                         std::size_t group,
                                         std::int64_t most) const;
  [[nodiscard]] std::vector<BlockTable> find_layout(const BlockHashes& hashes,
                                                    const std::vector<std::size_t>& layout,
                                                    std::int64_t most) const;
  [[nodiscard]] CachedPrefix find_common(const BlockHashes& hashes, std::int64_t most) const;
  void hold(BlockTable& table, const BlockHashes& hashes, const TokenSequence& tokens);
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_size_ - 1) / block_size_;
  }
  /// Blocks that each table lacks: they are equal in length.
  [[nodiscard]] std::int64_t blocks_missing(const BlockTables& tables, std::int64_t tokens) const {
    return blocks_for(std::max<std::int64_t>(tokens - tables.tokens_held, 0));
  }
  bool take_blocks(BlockTables& tables, std::int64_t tokens);
  void tell_stored(core::RequestId request,
                   const BlockHashes& hashes,
                   std::int64_t begin,
                   std::int64_t end);
  void give_back(std::vector<core::BlockId>& blocks);
  void move_windows(BlockTables& tables, const BlockHashes& hashes, std::int64_t computed);
  void note_hashed(BlockTables& tables, std::int64_t blocks) const;
  void note_windows(BlockTables& tables) const;
  [[nodiscard]] std::int64_t blocks_of_hit(std::size_t group) const;
  [[nodiscard]] bool state_stays_findable(const BlockTables& tables, std::int64_t block) const;
  [[nodiscard]] bool stays_findable(const BlockTables& tables,
                                    std::size_t group,
                                    std::int64_t block) const;
  /// What a window and the tokens of all steps in flight can touch, and the block that the first of
  /// them may begin in the middle of; a chunk begins with a block.
  [[nodiscard]] std::int64_t most_blocks_of_window(std::size_t group) const {
    const std::int64_t window = kinds_[group].window;
    return kinds_[group].is_chunk ? blocks_for(window + most_tokens_in_flight_)
                                  : blocks_for(window - 1 + most_tokens_in_flight_) + 1;
  }

  KvCache pool_;
  KvEventSink* events_ = nullptr;
  std::int64_t block_size_;
  std::int64_t hash_ahead_;  ///< hash_lookahead().
  bool enable_prefix_caching_;
  bool frees_in_order_;
  bool drops_last_hit_;
  bool drops_per_layout_;
  std::int64_t most_tokens_in_flight_;
  /// What the layers of each group read of what came before.
  struct Kind {
    std::int64_t window = 0;  ///< 0: full attention.
    bool is_chunk = false;
    bool keeps_states = false;
    std::int64_t kept = 0;  ///< Tokens left of the window that several draft modules read again.

    /// Tokens that they read no more once so many are computed.
    [[nodiscard]] std::int64_t useless(std::int64_t computed) const {
      return is_chunk ? computed / window * window
                      : std::max<std::int64_t>(computed - window + 1 - kept, 0);
    }
  };
  std::vector<Kind> kinds_;
  /// prefix_cache_retention_interval where it applies.
  std::optional<std::int64_t> retention_;
  /// Groups with one window width, full attention first: what is looked up together.
  std::vector<std::vector<std::size_t>> layouts_;
  std::vector<std::uint64_t> new_states_;  ///< Hashes of states of the step being formed.
  Profile profile_;
  std::vector<core::BlockId> dropped_;  ///< By the window that moves on; kept for its memory.
};

}  // namespace ridgeline::engine::vllm::plain

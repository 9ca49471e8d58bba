#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"
#include "core/key_map.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/kv_look.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/vllm/plain/kv_changes.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// What the cache is built for.
struct KvCacheLimits {
  std::int64_t num_blocks = 0;
  std::int64_t tokens_per_block = 32;
  bool enable_block_reuse = true;
  bool enable_partial_reuse = true;
  bool copy_on_partial_reuse = true;
};

/// TensorRT-LLM's KV block manager (kvCacheManager.cpp, evictionPolicy.cpp) for full attention on
/// one GPU's pool: blocks with reference counts, free ones in the order in which they were given
/// back, and stored ones under a key of all tokens up to their end. A free block keeps what it
/// stores until it is taken, or a block is that it follows (getFreeBlock: freeChildren). All blocks
/// have the default retention priority, so that one queue is enough.
class KvCache {
 public:
  static constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

  explicit KvCache(const KvCacheLimits& limits);

  [[nodiscard]] std::int64_t num_blocks() const { return limits_.num_blocks; }
  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return (tokens + limits_.tokens_per_block - 1) / limits_.tokens_per_block;
  }
  /// Blocks that a request still takes to its last token.
  [[nodiscard]] std::int64_t blocks_to_completion(const Sequence& sequence) const;
  /// Blocks that a request takes in so many further steps of so many tokens each.
  [[nodiscard]] std::int64_t blocks_for_steps(const Sequence& sequence,
                                              std::int64_t steps,
                                              std::int64_t tokens_per_step) const;
  /// Requests that hold a block.
  [[nodiscard]] std::int64_t references(core::BlockId block) const {
    return blocks_[block.value()].references;
  }

  /// From now on a request may have tokens in common with another, or look for its own: until then
  /// none is looked for, and stored blocks need no keys.
  void begin_lookups();
  /// Leading tokens of a context that are stored, less than all of it.
  [[nodiscard]] std::int64_t find_prefix(const Sequence& sequence,
                                         std::optional<KvLook> look = std::nullopt) const;
  /// The key of the first full block of a context that is not stored; none where all are.
  [[nodiscard]] std::optional<std::uint64_t> first_new_block(const Sequence& sequence) const;
  /// Gives a context its blocks, stored ones first; returns the tokens found. Requires as many free
  /// blocks as the context needs.
  std::int64_t start(Sequence& sequence);
  /// Takes blocks for so many tokens, there are as many free ones; or only so many blocks. Returns
  /// how many.
  std::int64_t extend(Sequence& sequence, std::int64_t tokens, std::int64_t most = kAnyNumber);
  /// Gives back the blocks behind those of so many tokens: they are the next to be taken
  /// (releaseLastBlock).
  void shrink(Sequence& sequence, std::int64_t tokens);
  /// The blocks of a request's first so many tokens can be found from now on, whole ones; with
  /// `tail`, the first tokens of the next one as well.
  void store(const Sequence& sequence, std::int64_t tokens, bool tail);
  /// Gives back all blocks, the last first.
  void release(Sequence& sequence);

  /// From now on find_prefix() may be asked of instants so long ago.
  void keep_changes(const KvHistory& history) {
    changes_.emplace(history);
    begin_lookups();
  }
  void set_now(core::SimTime now) { changes_->set_now(now); }
  /// Blocks whose content was given up so far.
  [[nodiscard]] std::int64_t num_evicted() const { return num_evicted_; }

 private:
  using Index = core::BlockId::Rep;
  static constexpr Index kNone = static_cast<Index>(-1);

  struct Block {
    std::int64_t references = 0;
    Index previous = kNone;  ///< In the queue of free blocks.
    Index next = kNone;
    Index before = kNone;             ///< The stored block that it follows; none for a first one.
    Index last_follower = kNone;      ///< The one stored last of those that follow it.
    Index previous_follower = kNone;  ///< Neighbours that follow the same block.
    Index next_follower = kNone;
    std::int64_t tokens = 0;                     ///< That it stores; 0: none.
    std::int64_t place = 0;                      ///< Among the blocks of the content.
    bool is_sibling = false;                     ///< Is in siblings_.
    std::shared_ptr<Content> content = nullptr;  ///< Whose tokens those are.
  };
  /// A block found by its first tokens alone.
  struct PartialMatch {
    Index block = kNone;
    std::int64_t tokens = 0;
  };

  [[nodiscard]] std::uint64_t key_before(Content& content, std::int64_t block) const {
    return content.key_before(block, limits_.tokens_per_block);
  }
  [[nodiscard]] std::uint64_t key_of(const Sequence& sequence, std::int64_t block) const {
    return key_before(*sequence.content, block + 1);
  }
  [[nodiscard]] std::uint64_t key_of(const Block& block) const {
    return key_before(*block.content, block.place + 1);
  }
  /// Key in siblings_.
  [[nodiscard]] std::uint64_t sibling_key(Content& content, std::int64_t block) const;
  [[nodiscard]] bool is_found(std::uint64_t key, std::optional<KvLook> look) const;
  [[nodiscard]] std::int64_t full_blocks_found(const Sequence& sequence,
                                               std::optional<KvLook> look) const;
  [[nodiscard]] PartialMatch find_partial(const Sequence& sequence, std::int64_t block) const;
  [[nodiscard]] std::int64_t common_tokens(const Block& stored,
                                           const Sequence& sequence,
                                           std::int64_t block) const;
  /// Neither in use nor followed by stored blocks.
  [[nodiscard]] bool is_free_leaf(Index index) const;
  [[nodiscard]] Index find(std::uint64_t key) const;
  Index put(const Sequence& sequence, std::int64_t place, std::int64_t tokens, Index before);
  void enter(Index index, Index before);
  void add_sibling(Index index);
  std::int64_t forget(Index index);
  void forget_one(Index index);
  void note(std::uint64_t key, bool came);
  void claim(Sequence& sequence, Index index);
  void take_into(Sequence& sequence);
  void give_back(Sequence& sequence, bool to_front = false);
  void push_free(Index index);
  void push_free_front(Index index);
  void unlink_free(Index index);

  KvCacheLimits limits_;
  bool has_lookups_ = false;
  std::vector<Block> blocks_;
  Index first_free_ = kNone;
  Index last_free_ = kNone;
  std::int64_t num_free_ = 0;
  std::int64_t num_evicted_ = 0;
  core::KeyMap<Index> stored_;  ///< Full blocks.
  /// Stored blocks, in the order in which they were, by the key of all before them and their first
  /// token. Where blocks may be found by their first tokens; one that was always alone behind
  /// another is not in it.
  std::unordered_map<std::uint64_t, std::vector<Index>> siblings_;
  std::optional<vllm::plain::KvChanges> changes_;
};

}  // namespace ridgeline::engine::tensorrt_llm

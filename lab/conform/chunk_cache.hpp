#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/store/eviction.hpp"

namespace ridgeline::conform {

using store::BlockKey;

/// How a release of vLLM chooses among the chunks that it keeps in the host's memory.
struct ChunkRules {
  bool is_adaptive = false;          ///< ARC; otherwise the least recently used gives way.
  std::int64_t store_threshold = 0;  ///< A chunk is stored once it was counted so often.
  bool counts_offers = false;        ///< Counted are offers to store it, not look-ups.
  bool gives_up_either = false;      ///< ARC: where one list has no idle chunk the other is asked.
  bool follows_requests = false;     ///< A request uses a chunk once, at the request's end; ...
  bool ranks_running = false;        ///< ... and provisionally from its first use on.
  /// Otherwise the chunks of a transfer become idle in the order of a set in Python, another one in
  /// each run: one number for each order.
  std::uint64_t set_order = 0;
};

/// What one request has used of a chunk cache, head first.
struct ChunkUses {
  std::unordered_map<BlockKey, std::int64_t> places = {};  ///< Where a chunk ends in the prompt.
  std::vector<BlockKey> seen = {};
  std::unordered_set<BlockKey> known = {};  ///< Those of `seen`.
  std::unordered_set<BlockKey> inserted = {};
  std::unordered_set<BlockKey> reused = {};
  std::unordered_set<BlockKey> missed = {};
  std::int64_t rank = 0;
  bool is_over = false;
};

/// In which order idle chunks give way.
class ChunkOrder {
 public:
  using IsIdle = std::function<bool(BlockKey)>;

  ChunkOrder() = default;
  ChunkOrder(const ChunkOrder&) = delete;
  ChunkOrder& operator=(const ChunkOrder&) = delete;
  virtual ~ChunkOrder() = default;

  virtual void insert(BlockKey key, ChunkUses& uses) = 0;
  /// `is_ready`: of a chunk, whether its writing has ended.
  virtual void touch(std::span<const BlockKey> keys, const IsIdle& is_ready) = 0;
  /// A request uses chunks for the first time, before it ends.
  virtual void use(std::span<const BlockKey> keys, ChunkUses& uses) = 0;
  /// Chunks that are not there are about to come.
  virtual void miss(std::span<const BlockKey> keys) = 0;
  /// A request has ended: what it used, head first.
  virtual void finish(std::span<const BlockKey> keys, const ChunkUses& uses) = 0;
  virtual void set_idle(BlockKey key, bool is_idle) = 0;
  /// So many chunks that may go, which are forgotten; none where there are fewer.
  virtual std::vector<BlockKey> evict(std::int64_t count, const IsIdle& may_go) = 0;
};
[[nodiscard]] std::unique_ptr<ChunkOrder> make_chunk_order(const ChunkRules& rules,
                                                           std::int64_t capacity);

/// Chunks of KV in a host's memory, as vLLM's CPUOffloadingManager keeps them
/// (v1/kv_offload/cpu/manager.py): recordings are held against it. The simulator's own tiers
/// (cluster/store) choose what gives way block by block.
class ChunkCache {
 public:
  ChunkCache(const ChunkRules& rules, std::int64_t capacity)
      : rules_(rules), capacity_(capacity), order_(make_chunk_order(rules, capacity)) {}

  enum class Found : std::uint8_t { kNo, kWritten, kBeingWritten };
  Found look_up(BlockKey key);
  /// Requires that all can be read. Returns their places in the memory.
  std::vector<std::int64_t> begin_read(std::span<const BlockKey> keys, ChunkUses& uses);
  void end_read(std::span<const BlockKey> keys);
  struct Write {
    std::vector<BlockKey> keys = {};
    std::vector<std::int64_t> places = {};
  };
  /// Which of these chunks are written from now on; nothing where there is no room for them.
  std::optional<Write> begin_write(std::span<const BlockKey> keys, ChunkUses& uses);
  void end_write(std::span<const BlockKey> keys);
  /// A request has looked chunks up, or stores some of them.
  void touch(std::span<const BlockKey> keys);
  /// A request has ended.
  void finish(ChunkUses& uses);

 private:
  struct Chunk {
    std::int64_t place = 0;
    std::int64_t readers = -1;  ///< -1: it is being written.
  };
  [[nodiscard]] std::vector<BlockKey> as_set(std::span<const BlockKey> keys) const;
  [[nodiscard]] bool has_room(std::int64_t count, std::span<const BlockKey> offered);
  void use(std::span<const BlockKey> keys, ChunkUses& uses);

  ChunkRules rules_;
  std::int64_t capacity_;
  std::unique_ptr<ChunkOrder> order_;
  std::unordered_map<BlockKey, Chunk> chunks_;
  std::unordered_map<BlockKey, std::int64_t> counts_;
  std::int64_t num_idle_ = 0;
  std::int64_t num_used_places_ = 0;  ///< That were ever taken.
  std::vector<std::int64_t> free_places_;
};

}  // namespace ridgeline::conform

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::engine::fast {

/// The block pool and prefix cache of the fast twin: the same decisions as reference::KvCache, on
/// flat arrays with an intrusive free list, without allocation once built.
class KvPool {
 public:
  using Block = std::uint32_t;
  static constexpr Block kNone = 0;  ///< The null block is never handed out.

  struct Options {
    core::Blocks num_gpu_blocks;
    bool enable_prefix_caching = true;
    bool free_unhashed_first = false;
  };
  explicit KvPool(const Options& options);
  ~KvPool();
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  [[nodiscard]] std::int64_t num_usable() const {
    return static_cast<std::int64_t>(blocks_.size()) - 1;
  }
  [[nodiscard]] std::int64_t num_used() const { return num_usable() - num_free_; }

  /// The oldest block that holds this key, or kNone.
  [[nodiscard]] Block find(std::uint64_t key) const;
  [[nodiscard]] bool held(Block block) const { return blocks_[block].references > 0; }
  void touch(Block block);
  Block allocate();
  void set_key(Block block, std::uint64_t key);
  /// One holder less for each block, given in order of the request's tokens.
  void release(std::span<const Block> blocks);

 private:
  struct State {
    std::uint64_t key = 0;  ///< 0: holds nothing that can be found.
    std::uint32_t references = 0;
    Block next = kNone;  ///< In the free list, which is a ring through block 0.
    Block previous = kNone;
    Block next_equal = kNone;  ///< Younger block with the same key.
  };
  struct Index;  ///< Key to oldest block; hides the hash map's header.

  void unlink(Block block);
  void link_after(Block where, Block block);
  void forget_key(Block block);

  bool free_unhashed_first_;
  std::int64_t num_free_ = 0;
  std::vector<State> blocks_;
  std::unique_ptr<Index> index_;
};

}  // namespace ridgeline::engine::fast

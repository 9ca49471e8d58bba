// Any bytes as operations on the KV cache, held against a model that keeps everything in plain
// lists and finds by trying: same blocks, same free list, same hits after every operation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "choices.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/vllm/plain/block_tables.hpp"

namespace {

using ridgeline::core::BlockId;
using ridgeline::engine::EngineOptions;
using ridgeline::engine::vllm::plain::BlockManager;
using ridgeline::engine::vllm::plain::BlockTables;
using ridgeline::engine::vllm::plain::CachedPrefix;
using ridgeline::engine::vllm::plain::kNullBlock;
using ridgeline::fuzz::Choices;

constexpr std::int64_t kBlockSize = 4;
/// The admission before which look-ups begin.
constexpr std::int64_t kLookupsFrom = 2;
constexpr std::int64_t kMostBlocks = 12;  ///< Blocks of one request.

/// The model's pool.
class PlainPool {
 public:
  PlainPool(std::int64_t blocks, bool unhashed_first)
      : unhashed_first_(unhashed_first), blocks_(static_cast<std::size_t>(blocks)) {
    for (std::int64_t id = 1; id < blocks; ++id) {
      free_.push_back(BlockId(static_cast<std::uint32_t>(id)));
    }
  }

  [[nodiscard]] const std::vector<BlockId>& free() const { return free_; }
  [[nodiscard]] std::int64_t references(BlockId id) const { return blocks_[id.value()].references; }
  [[nodiscard]] std::optional<BlockId> find(std::uint64_t hash, std::size_t group) const {
    std::optional<BlockId> oldest;
    for (std::uint32_t id = 1; id < blocks_.size(); ++id) {
      const Block& block = blocks_[id];
      if (block.entered > 0 && block.hash == hash && block.group == group &&
          (!oldest || block.entered < blocks_[oldest->value()].entered)) {
        oldest = BlockId(id);
      }
    }
    return oldest;
  }
  BlockId allocate() {
    const BlockId id = free_.front();
    free_.erase(free_.begin());
    blocks_[id.value()] = {.references = 1};
    return id;
  }
  void touch(BlockId id) {
    std::erase(free_, id);
    ++blocks_[id.value()].references;
  }
  void enter(BlockId id, std::uint64_t hash, std::size_t group) {
    Block& block = blocks_[id.value()];
    block.hash = hash;
    block.group = group;
    block.entered = ++entries_;
  }
  void release(const std::vector<BlockId>& ids) {
    std::size_t at_head = 0;
    for (const BlockId id : ids) {
      if (id == kNullBlock || --blocks_[id.value()].references > 0) {
        continue;
      }
      const bool first = unhashed_first_ && blocks_[id.value()].entered == 0;
      const auto place =
          first ? free_.begin() + static_cast<std::ptrdiff_t>(at_head++) : free_.end();
      free_.insert(place, id);
    }
  }
  void forget() {
    for (Block& block : blocks_) {
      block.entered = 0;
    }
  }

 private:
  struct Block {
    std::int64_t references = 0;
    std::uint64_t hash = 0;
    std::size_t group = 0;
    std::int64_t entered = 0;  ///< When its content was entered; 0: it holds nothing findable.
  };
  bool unhashed_first_;
  std::vector<Block> blocks_;
  std::vector<BlockId> free_;
  std::int64_t entries_ = 0;
};

/// Hashes are drawn here, not made from tokens.
const ridgeline::engine::vllm::plain::TokenSequence kNoTokens{ridgeline::domain::Request{}};

struct Holder {
  std::vector<std::uint64_t> hashes;  ///< Hashes of all its blocks, were they full.
  std::int64_t tokens = 0;
  BlockTables tables;                       ///< The real ones.
  std::vector<std::vector<BlockId>> plain;  ///< The model's.
  std::vector<std::int64_t> plain_entered;  ///< Blocks of each table that the cache has.
};

class Machine {
 public:
  explicit Machine(Choices& choices)
      : choices_(choices),
        options_(read_options(choices)),
        real_(options_),
        plain_(options_.num_gpu_blocks.value(),
               options_.profile.free_unhashed_first &&
                   (options_.enable_prefix_caching || options_.profile.frees_uncached_first)) {}

  void run() {
    while (!choices_.empty()) {
      switch (choices_.below(6)) {
        case 0:
        case 1:
          admit();
          break;
        case 2:
        case 3:
          grow();
          break;
        case 4:
          drop();
          break;
        default:
          reset();
          break;
      }
      check();
    }
    while (!holders_.empty()) {
      release(holders_.size() - 1);
      check();
    }
    RIDGELINE_CHECK(real_.pool().num_used() == 0, "blocks are lost");
  }

 private:
  static EngineOptions read_options(Choices& choices) {
    EngineOptions options;
    options.block_size = ridgeline::core::Tokens(kBlockSize);
    options.num_gpu_blocks = ridgeline::core::Blocks(2 + choices.below(40));
    const std::int64_t switches = choices.below(64);
    options.enable_prefix_caching = (switches & 1) == 0;
    options.profile.free_unhashed_first = (switches & 2) != 0;
    options.profile.frees_uncached_in_order = (switches & 4) != 0;
    options.num_speculative_tokens = (switches & 8) != 0 ? 1 : 0;
    options.profile.draft_drops_block_per_layout = (switches & 16) != 0;
    options.profile.frees_uncached_first = (switches & 32) != 0;
    const ridgeline::engine::CacheGroup full;
    const ridgeline::engine::CacheGroup window{.sliding_window =
                                                   ridgeline::core::Tokens(2 + choices.below(14))};
    switch (choices.below(5)) {
      case 0:
        options.cache_groups = {full};
        break;
      case 1:
        options.cache_groups = {window};
        break;
      case 2:
        options.cache_groups = {full, window};
        break;
      case 3:
        options.cache_groups = {window, full, window};
        break;
      default:
        options.cache_groups = {full, full};
        break;
    }
    return options;
  }

  [[nodiscard]] std::int64_t window(std::size_t group) const {
    return options_.cache_groups[group].sliding_window.value();
  }
  [[nodiscard]] bool drops() const { return options_.num_speculative_tokens > 0; }

  /// Whether the first `length` blocks are of use to a group, by the definition.
  [[nodiscard]] bool is_hit(const Holder& holder, std::size_t group, std::int64_t length) const {
    std::int64_t from = 0;
    if (window(group) > 0) {
      const std::int64_t seen = (window(group) - 1 + kBlockSize - 1) / kBlockSize;
      from = std::max<std::int64_t>(length - seen - (drops() ? 1 : 0), 0);
    }
    for (std::int64_t i = from; i < length; ++i) {
      if (!plain_.find(holder.hashes[static_cast<std::size_t>(i)], group)) {
        return false;
      }
    }
    return true;
  }

  /// The longest hit up to `most` of the groups that `takes` chooses.
  template <class Choice>
  std::int64_t longest(const Holder& holder, std::int64_t most, Choice takes) const {
    for (std::int64_t length = most; length > 0; --length) {
      bool good = true;
      for (std::size_t group = 0; group < options_.cache_groups.size(); ++group) {
        good = good && (!takes(group) || is_hit(holder, group, length));
      }
      if (good) {
        return length;
      }
    }
    return 0;
  }

  [[nodiscard]] std::int64_t hit(const Holder& holder, std::int64_t most) const {
    const auto less_one = [](std::int64_t length) { return std::max<std::int64_t>(length - 1, 0); };
    const auto all = [](std::size_t) { return true; };
    if (!options_.enable_prefix_caching) {
      return 0;
    }
    if (!drops()) {
      return longest(holder, most, all);
    }
    const auto is_full = [this](std::size_t group) { return window(group) == 0; };
    const auto is_window = [this](std::size_t group) { return window(group) > 0; };
    bool mixed = false;
    for (std::size_t group = 1; group < options_.cache_groups.size(); ++group) {
      mixed = mixed || window(group) != window(0);
    }
    if (!mixed || !options_.profile.draft_drops_block_per_layout) {
      return less_one(longest(holder, most, all));
    }
    return less_one(longest(holder, less_one(longest(holder, most, is_full)), is_window));
  }

  /// A new request of some content: what it finds, and its blocks if there are enough.
  void admit() {
    Holder holder;
    std::uint64_t hash = static_cast<std::uint64_t>(choices_.below(3));
    const std::int64_t leaves = choices_.below(kMostBlocks + 1);  // Its own from here on.
    for (std::int64_t i = 0; i < kMostBlocks; ++i) {
      const std::uint64_t own = i >= leaves ? ++contents_ : 0;
      hash = hash * 1'000'003 + own * 7919 + static_cast<std::uint64_t>(i) + 1;
      holder.hashes.push_back(hash);
    }
    holder.tokens = 1 + choices_.below(kMostBlocks * kBlockSize);
    const std::int64_t most = (holder.tokens - 1) / kBlockSize;
    if (++admissions_ == kLookupsFrom) {
      // The first request can find nothing; blocks of it that are free, or held, count from here.
      real_.begin_lookups();
      for (const Holder& inside : holders_) {
        real_.hold(inside.tables, inside.hashes);
      }
    }
    const CachedPrefix prefix = real_.find_prefix(holder.hashes, most);
    RIDGELINE_CHECK(prefix.num_blocks == hit(holder, most), "another hit than by the definition");
    if (real_.blocks_needed(holder.tables, prefix, holder.tokens, false) >
        real_.pool().num_free()) {
      return;
    }
    real_.adopt(holder.tables, prefix, holder.hashes, kNoTokens);
    adopt(holder, prefix.num_blocks);
    extend(holder);
    holders_.push_back(holder);
  }

  void adopt(Holder& holder, std::int64_t length) {
    holder.plain.resize(options_.cache_groups.size());
    holder.plain_entered.assign(options_.cache_groups.size(), length);
    for (std::size_t group = 0; group < holder.plain.size(); ++group) {
      std::int64_t from = 0;
      if (window(group) > 0) {
        from =
            std::max<std::int64_t>(length - (window(group) - 1 + kBlockSize - 1) / kBlockSize, 0);
      }
      for (std::int64_t i = 0; i < length; ++i) {
        const BlockId block =
            i < from ? kNullBlock : *plain_.find(holder.hashes[static_cast<std::size_t>(i)], group);
        holder.plain[group].push_back(block);
      }
      for (const BlockId block : holder.plain[group]) {
        if (block != kNullBlock) {
          plain_.touch(block);
        }
      }
    }
  }

  void extend(Holder& holder) {
    real_.extend(holder.tables, holder.tokens);
    real_.hash_full_blocks(
        ridgeline::core::RequestId(0), holder.tables, holder.hashes, holder.tokens);
    const auto wanted = static_cast<std::size_t>((holder.tokens + kBlockSize - 1) / kBlockSize);
    for (auto& table : holder.plain) {
      while (table.size() < wanted) {
        table.push_back(plain_.allocate());
      }
    }
    if (!options_.enable_prefix_caching) {
      return;
    }
    for (std::size_t group = 0; group < holder.plain.size(); ++group) {
      for (std::int64_t& i = holder.plain_entered[group]; i < holder.tokens / kBlockSize; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (holder.plain[group][at] != kNullBlock) {
          plain_.enter(holder.plain[group][at], holder.hashes[at], group);
        }
      }
    }
  }

  /// More tokens for one of them; what its windows have passed goes first.
  void grow() {
    if (holders_.empty()) {
      return;
    }
    Holder& holder = holders_[static_cast<std::size_t>(
        choices_.below(static_cast<std::int64_t>(holders_.size())))];
    const std::int64_t computed = holder.tokens;
    real_.drop_left_of_windows(holder.tables, holder.hashes, computed);
    for (std::size_t group = 0; group < holder.plain.size(); ++group) {
      std::vector<BlockId> passed;
      const std::int64_t useless = window(group) == 0 ? 0 : computed - window(group) + 1;
      for (std::int64_t i = useless / kBlockSize - 1; i >= 0; --i) {
        BlockId& block = holder.plain[group][static_cast<std::size_t>(i)];
        if (block != kNullBlock) {
          passed.push_back(block);
          block = kNullBlock;
        }
      }
      plain_.release(passed);
    }
    const std::int64_t tokens =
        std::min(computed + choices_.below(2 * kBlockSize), kMostBlocks * kBlockSize);
    if (real_.blocks_needed(holder.tables, {}, tokens, false) <= real_.pool().num_free()) {
      holder.tokens = tokens;
      extend(holder);
    }
  }

  void drop() {
    if (!holders_.empty()) {
      release(static_cast<std::size_t>(choices_.below(static_cast<std::int64_t>(holders_.size()))));
    }
  }

  void release(std::size_t at) {
    Holder& holder = holders_[at];
    real_.release(holder.tables, holder.hashes);
    const bool in_order =
        !options_.enable_prefix_caching && options_.profile.frees_uncached_in_order;
    for (auto& table : holder.plain) {
      if (!in_order) {
        std::reverse(table.begin(), table.end());
      }
      plain_.release(table);
    }
    holders_.erase(holders_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void reset() {
    const bool done = real_.reset_prefix_cache();
    RIDGELINE_CHECK(done == (real_.pool().num_used() == 0), "a reset while blocks are held");
    if (done) {
      plain_.forget();
    }
  }

  void check() const {
    const auto& free = real_.pool().free_list();
    RIDGELINE_CHECK(
        std::equal(free.begin(), free.end(), plain_.free().begin(), plain_.free().end()),
        "another free list");
    RIDGELINE_CHECK(real_.pool().num_free() + real_.pool().num_used() == real_.pool().num_usable(),
                    "used and free are not all");
    std::vector<std::int64_t> holders(static_cast<std::size_t>(options_.num_gpu_blocks.value()), 0);
    for (const Holder& holder : holders_) {
      for (std::size_t group = 0; group < holder.plain.size(); ++group) {
        RIDGELINE_CHECK(holder.tables.groups[group].ids() == holder.plain[group],
                        "another block table");
      }
      for (const auto& table : holder.plain) {
        for (const BlockId block : table) {
          ++holders[block.value()];
        }
      }
    }
    if (admissions_ < kLookupsFrom) {
      return;  // Before look-ups the pool counts no references.
    }
    for (std::uint32_t id = 1; id < holders.size(); ++id) {
      RIDGELINE_CHECK(real_.pool().references(BlockId(id)) == holders[id],
                      "references are not the holders");
    }
  }

  Choices& choices_;
  EngineOptions options_;
  BlockManager real_;
  PlainPool plain_;
  std::vector<Holder> holders_;
  std::uint64_t contents_ = 0;
  std::int64_t admissions_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  Machine(choices).run();
  return 0;
}

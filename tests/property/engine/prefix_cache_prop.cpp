// The fast twin's prefix cache, which knows rows of blocks, against the reference's, which knows
// blocks: the same hits, the same blocks free, over random requests that share content.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/plain/block_tables.hpp"
#include "engine/vllm/plain/content.hpp"

namespace ridgeline::engine {
namespace {

constexpr std::int64_t kSize = 4;

/// A request that computes its tokens some at a time, in both caches.
struct CachedRequest {
  domain::Request request;
  std::int64_t computed = 0;
  vllm::plain::BlockHashes hashes;
  vllm::plain::BlockTables blocks;
  vllm::fast::PrefixCache::Table table;
};

class CachePair final : private vllm::fast::PrefixCache::Keyed {
 public:
  explicit CachePair(const EngineOptions& options)
      : plain_(options),
        rows_({.num_gpu_blocks = options.num_gpu_blocks,
               .block_size = core::Tokens(kSize),
               .enable_prefix_caching = options.enable_prefix_caching,
               .free_unhashed_first = options.profile.free_unhashed_first},
              *this),
        caching_(options.enable_prefix_caching) {
    plain_.begin_lookups();
  }

  [[nodiscard]] const std::vector<std::uint32_t>& alive() const { return alive_; }

  void admit(const domain::Request& request, std::int64_t tokens) {
    const std::uint32_t id = request.id.value();
    CachedRequest& entry = requests_[id];
    entry.request = request;
    const vllm::plain::TokenSequence content(request);
    std::uint64_t hash = 0;
    const std::int64_t known = request.prompt_tokens.value();
    for (std::int64_t i = 0; i < known; ++i) {
      hash = vllm::plain::chain(hash, content[i]);
      if ((i + 1) % kSize == 0) {
        entry.hashes.push_back(hash);
      }
    }
    const std::int64_t most = (known - 1) / kSize;
    const auto prefix =
        plain_.find_prefix(caching_ ? entry.hashes : vllm::plain::BlockHashes(), most);
    entry.table.chain = rows_.take_chain();
    rows_.assign(entry.table.chain, request);
    rows_.find(rows_.chain(entry.table.chain), most, known / kSize, match_);
    RC_ASSERT(match_.blocks == prefix.num_blocks);
    const std::int64_t cached = prefix.num_blocks * kSize;
    tokens = std::min(tokens, known - cached);
    const std::int64_t needed = plain_.blocks_needed({}, prefix, cached + tokens, false);
    RC_ASSERT((cached + tokens + kSize - 1) / kSize - match_.blocks + match_.free_blocks == needed);
    if (needed > plain_.pool().num_free()) {
      rows_.drop_chain(entry.table.chain);
      requests_.erase(id);
      return;
    }
    if (match_.growing_elsewhere != vllm::fast::PrefixCache::kNone) {
      rows_.expect_duplicates(requests_.at(rows_.owner_of(match_.growing_elsewhere)).table);
    }
    plain_.adopt(entry.blocks, prefix, entry.hashes, content);
    rows_.adopt(entry.table, id, match_);
    entry.computed = cached;
    alive_.push_back(id);
    compute(id, tokens);
  }

  /// The request computes more of its prompt, if there is room.
  void compute(std::uint32_t id, std::int64_t tokens) {
    CachedRequest& entry = requests_.at(id);
    const std::int64_t end = std::min(entry.computed + tokens, entry.request.prompt_tokens.value());
    const std::int64_t needed = plain_.blocks_needed(entry.blocks, {}, end, false);
    if (needed > plain_.pool().num_free()) {
      return;
    }
    plain_.extend(entry.blocks, end);
    plain_.hash_full_blocks(core::RequestId(0), entry.blocks, entry.hashes, end);
    rows_.allocate(needed);
    entry.computed = end;
    rows_.set_keyed(entry.table, id, caching_ ? end / kSize : 0);
  }

  void release(std::size_t which) {
    const std::uint32_t id = alive_[which];
    CachedRequest& entry = requests_.at(id);
    plain_.release(entry.blocks, entry.hashes);
    rows_.release(entry.table,
                  id,
                  (entry.computed + kSize - 1) / kSize,
                  caching_ ? entry.computed / kSize : 0);
    rows_.drop_chain(entry.table.chain);
    requests_.erase(id);
    alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void check() const {
    RC_ASSERT(rows_.num_free() == plain_.pool().num_free());
    RC_ASSERT(rows_.num_used() == plain_.pool().num_used());
  }

 private:
  [[nodiscard]] std::int64_t keyed_blocks(vllm::fast::PrefixCache::Owner owner) const override {
    return requests_.at(owner).table.keyed;
  }

  vllm::plain::BlockManager plain_;
  vllm::fast::PrefixCache rows_;
  bool caching_;
  std::map<std::uint32_t, CachedRequest> requests_;
  std::vector<std::uint32_t> alive_;
  vllm::fast::PrefixCache::Match match_;
};

domain::Request random_cached_request(std::uint32_t id) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 60));
  std::int64_t left = request.prompt_tokens.value();
  while (left > 0 && *rc::gen::element(0, 1, 1, 1) == 1) {
    const std::int64_t length = std::min(left, *rc::gen::element<std::int64_t>(2, 4, 8, 13, 24));
    const bool quotes = id > 0 && *rc::gen::element(0, 0, 0, 1) == 1;
    const std::uint64_t content =
        quotes ? domain::unique_content(core::RequestId(*rc::gen::inRange<std::uint32_t>(0, id)))
               : *rc::gen::inRange<std::uint64_t>(1, 3);
    request.prompt.push_back({content, core::Tokens(length)});
    left -= length;
  }
  return request;
}

RC_GTEST_PROP(PrefixCache, CountsAsBlockByBlock, ()) {
  EngineOptions options;
  options.block_size = core::Tokens(kSize);
  options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(16, 60));
  options.enable_prefix_caching = *rc::gen::element(true, true, true, false);
  options.profile.free_unhashed_first = *rc::gen::arbitrary<bool>();
  CachePair caches(options);
  const auto operations = *rc::gen::inRange(1, 120);
  std::uint32_t id = 0;
  for (int i = 0; i < operations; ++i) {
    const auto kind = *rc::gen::inRange(0, 4);
    if (kind < 2) {
      caches.admit(random_cached_request(id++), *rc::gen::inRange<std::int64_t>(1, 64));
    } else if (!caches.alive().empty()) {
      const auto which = *rc::gen::inRange<std::size_t>(0, caches.alive().size());
      if (kind == 2) {
        caches.compute(caches.alive()[which], *rc::gen::inRange<std::int64_t>(1, 30));
      } else {
        caches.release(which);
      }
    }
    caches.check();
  }
}

}  // namespace
}  // namespace ridgeline::engine

#include "routing/prefix_table.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Bits of a word of owners.
constexpr std::size_t kWord = 64;

}  // namespace

const PromptBlocks& PromptReader::read(const RouteInput& input) {
  const domain::RequestView& request = input.request;
  chain_.assign(input.prompt,
                request.prompt_tokens,
                request.lora,
                domain::unique_content(request.id),
                domain::output_content(request.id));
  const std::int64_t prompt = std::min(request.prompt_tokens.value(), blocks_.most);
  const std::int64_t end = blocks_.whole ? prompt / blocks_.tokens * blocks_.tokens : prompt;
  const std::int64_t size = (end + blocks_.tokens - 1) / blocks_.tokens;
  own_blocks_have_keys_ = own_blocks_have_keys_ || chain_.quotes() ||
                          request.id.value() < next_id_ || size > blocks_.memory ||
                          end > std::numeric_limits<std::uint32_t>::max();
  // A block with a token of the request's own is its own.
  const std::int64_t shared = chain_.shared_tokens() >= end || own_blocks_have_keys_
                                  ? size
                                  : chain_.shared_tokens() / blocks_.tokens;
  prompt_.keys.clear();
  for (std::int64_t i = 0; i < shared; ++i) {
    prompt_.keys.push_back(chain_.key(std::min((i + 1) * blocks_.tokens, end)));
  }
  prompt_.own_count = size - shared;
  prompt_.block_tokens = blocks_.tokens;
  if (prompt_.own_count > 0) {
    const domain::Chain::OwnTokens own = chain_.own_tokens();
    prompt_.own = {.hash = own.hash,
                   .content = own.content,
                   .begin = static_cast<std::uint32_t>(own.begin),
                   .end = static_cast<std::uint32_t>(end)};
  }
  return prompt_;
}

void PromptReader::note_sent(core::RequestId id) {
  next_id_ = std::max(next_id_, id.value() + 1);
}

std::span<const std::int64_t> PrefixTable::matches(const PromptBlocks& blocks) {
  if (std::exchange(has_counts_, false)) {
    std::ranges::fill(counts_, 0);
  }
  for (const std::uint64_t block : blocks.keys) {
    const auto owners = owners_.find(block);
    if (owners == owners_.end()) {
      break;
    }
    has_counts_ = true;
    for (std::size_t word = 0; word < owners->second.size(); ++word) {
      for (std::uint64_t bits = owners->second[word]; bits != 0; bits &= bits - 1) {
        ++counts_[word * kWord + static_cast<std::size_t>(std::countr_zero(bits))];
      }
    }
  }
  return counts_;
}

void PrefixTable::add(std::size_t server, const PromptBlocks& blocks) {
  for (const std::uint64_t block : blocks.keys) {
    push(server, block);
  }
  for (const std::uint64_t block : blocks.keys) {
    own(server, block);
  }
  if (blocks.own_count > 0) {
    push_own(server, blocks);
  }
}

void PrefixTable::forget(std::size_t server) {
  if (server >= recent_.size()) {
    return;
  }
  for (const Block& block : recent_[server].order) {
    disown(server, block.key);
  }
  recent_[server] = {};
}

void PrefixTable::push(std::size_t server, std::uint64_t key) {
  Recent& recent = recent_[server];
  const std::uint64_t rows = recent.rows_gone + recent.own.size();
  if (const auto known = recent.places.find(key); known != recent.places.end()) {
    known->second->rows = rows;
    recent.order.splice(recent.order.begin(), recent.order, known->second);
    return;
  }
  recent.order.push_front({.key = key, .rows = rows});
  recent.places.emplace(key, recent.order.begin());
  ++recent.size;
  forget_oldest(server);
}

void PrefixTable::push_own(std::size_t server, const PromptBlocks& blocks) {
  Recent& recent = recent_[server];
  has_own_blocks_ = true;
  block_tokens_ = blocks.block_tokens;
  recent.own.extend() = blocks.own;
  recent.size += blocks.own_count;
  forget_oldest(server);
}

/// Until there are no more than `capacity` blocks. Of a prompt the first block is the oldest.
void PrefixTable::forget_oldest(std::size_t server) {
  Recent& recent = recent_[server];
  while (recent.size > capacity_) {
    if (!recent.own.empty() &&
        (recent.order.empty() || recent.rows_gone < recent.order.back().rows)) {
      forget_own_blocks(recent, recent.size - capacity_);
      continue;
    }
    const std::uint64_t key = recent.order.back().key;
    recent.places.erase(key);
    disown(server, key);
    recent.order.pop_back();
    --recent.size;
  }
}

/// The first `count` blocks of the oldest row, or all of it.
void PrefixTable::forget_own_blocks(Recent& recent, std::int64_t count) const {
  const std::int64_t left = recent.own.front().count(block_tokens_) - recent.first_row_gone;
  recent.size -= std::min(count, left);
  recent.first_row_gone += count;
  if (count >= left) {
    recent.own.pop_front();
    ++recent.rows_gone;
    recent.first_row_gone = 0;
  }
}

void PrefixTable::give_keys_to_own_blocks() {
  if (!std::exchange(has_own_blocks_, false)) {
    return;
  }
  for (std::size_t server = 0; server < recent_.size(); ++server) {
    Recent& recent = recent_[server];
    auto older = recent.order.begin();
    for (std::size_t row = recent.own.size(); row-- > 0;) {
      const OwnBlocks& blocks = recent.own[row];
      while (older != recent.order.end() && older->rows > recent.rows_gone + row) {
        ++older;
      }
      const std::int64_t first = row == 0 ? recent.first_row_gone : 0;
      for (std::int64_t i = blocks.count(block_tokens_) - 1; i >= first; --i) {
        const std::uint64_t key = blocks.key(i, block_tokens_);
        recent.places.emplace(key, recent.order.insert(older, {.key = key}));
        own(server, key);
      }
    }
    recent.own = {};
    recent.first_row_gone = 0;
  }
}

void PrefixTable::own(std::size_t server, std::uint64_t block) {
  auto& owners = owners_[block];
  owners.resize((recent_.size() + kWord - 1) / kWord);
  owners[server / kWord] |= std::uint64_t{1} << (server % kWord);
}

void PrefixTable::disown(std::size_t server, std::uint64_t block) {
  const auto owners = owners_.find(block);
  if (owners == owners_.end()) {
    return;
  }
  owners->second[server / kWord] &= ~(std::uint64_t{1} << (server % kWord));
  if (std::ranges::all_of(owners->second, [](std::uint64_t word) { return word == 0; })) {
    owners_.erase(owners);
  }
}

std::vector<std::uint64_t> block_keys(const domain::Chain& chain,
                                      std::int64_t prompt_tokens,
                                      std::int64_t block_tokens,
                                      std::int64_t most) {
  std::vector<std::uint64_t> keys;
  const std::int64_t end = std::min(prompt_tokens, most);
  for (std::int64_t begin = 0; begin < end; begin += block_tokens) {
    keys.push_back(chain.key(std::min(begin + block_tokens, end)));
  }
  return keys;
}

}  // namespace ridgeline::routing

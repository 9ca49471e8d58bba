#include "engine/fast/chain.hpp"

#include <algorithm>
#include <cstdint>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine::fast {
namespace {

/// 2^64 / golden ratio: keeps the hash of a finished piece apart from the key of its end.
constexpr std::uint64_t kPieceEnd = 0x9e3779b97f4a7c15ULL;

/// Contents of a request's own have one of the two highest bits set.
constexpr int kOwnContentShift = 62;
static_assert((domain::unique_content(core::RequestId(0)) >> kOwnContentShift) == 1);
static_assert((domain::output_content(core::RequestId(0)) >> kOwnContentShift) == 2);

}  // namespace

std::uint64_t Chain::next_hash(std::uint64_t hash, std::uint64_t content, std::int64_t length) {
  return mix(key_in(hash, content, length) + kPieceEnd);
}

/// An adapter changes every activation, hence every KV block. Mixed, because contents are as small
/// and as near to each other as the numbers of adapters are.
std::uint64_t Chain::first_hash(core::LoraId lora) {
  return mix(lora.value() + kPieceEnd);
}

void Chain::assign(const domain::Request& request) {
  pieces_.clear();
  quotes_ = false;
  std::uint64_t hash = first_hash(request.lora);
  std::int64_t begin = 0;
  for (const domain::Segment& segment : request.prompt) {
    if (segment.length.value() == 0) {
      continue;
    }
    quotes_ = quotes_ || (segment.content >> kOwnContentShift) != 0;
    pieces_.push_back({.begin = begin, .hash = hash, .content = segment.content});
    hash = next_hash(hash, segment.content, segment.length.value());
    begin += segment.length.value();
  }
  shared_tokens_ = begin;
  finish(request.id, request.prompt_tokens.value(), hash);
}

void Chain::assign_unique(core::RequestId id, core::LoraId lora, core::Tokens prompt_tokens) {
  pieces_.clear();
  quotes_ = false;
  shared_tokens_ = 0;
  finish(id, prompt_tokens.value(), first_hash(lora));
}

void Chain::finish(core::RequestId id, std::int64_t prompt_tokens, std::uint64_t hash) {
  prompt_tokens_ = prompt_tokens;
  unique_content_ = domain::unique_content(id);
  output_content_ = domain::output_content(id);
  tail_hash_ = hash;
  output_hash_ = prompt_tokens > shared_tokens_
                     ? next_hash(hash, unique_content_, prompt_tokens - shared_tokens_)
                     : hash;
}

std::uint64_t Chain::key_in_pieces(std::int64_t end) const {
  // The last piece that begins before `end`.
  const auto after = std::lower_bound(
      pieces_.begin(), pieces_.end(), end, [](const Piece& piece, std::int64_t at) {
        return piece.begin < at;
      });
  const Piece& piece = *(after - 1);
  return key_in(piece.hash, piece.content, end - piece.begin);
}

}  // namespace ridgeline::engine::fast

#include "engine/vllm/plain/content.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "domain/request.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// SplitMix64's output of a seed (Steele, Lea and Flood 2014): a bijection that mixes every bit, so
/// that the tokens of two contents, numbered from there, do not meet.
std::uint64_t mix(std::uint64_t seed) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15ULL;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}

}  // namespace

TokenSequence::TokenSequence(const domain::Request& request) {
  const std::int64_t prompt = request.prompt_tokens.value();
  std::int64_t named = 0;
  for (const domain::Segment& segment : request.prompt) {
    add(segment.content, named, segment.length.value());
    named += segment.length.value();
  }
  add(domain::unique_content(request.id), named, prompt - named);
  add(domain::output_content(request.id),
      prompt,
      std::numeric_limits<std::int64_t>::max() - prompt);
}

void TokenSequence::add(std::uint64_t content, std::int64_t begin, std::int64_t length) {
  if (length > 0) {
    pieces_.push_back(
        {.end = begin + length, .token_zero = mix(content) - static_cast<std::uint64_t>(begin)});
  }
}

std::vector<TokenSequence::Piece>::const_iterator TokenSequence::piece_at(
    std::int64_t position) const {
  return std::upper_bound(
      pieces_.begin(), pieces_.end(), position, [](std::int64_t at, const Piece& piece) {
        return at < piece.end;
      });
}

std::uint64_t TokenSequence::operator[](std::int64_t position) const {
  return piece_at(position)->token_zero + static_cast<std::uint64_t>(position);
}

std::uint64_t TokenSequence::hash_block(std::uint64_t parent,
                                        std::int64_t begin,
                                        std::int64_t end) const {
  std::uint64_t hash = 0;
  auto piece = piece_at(begin);
  for (std::int64_t position = begin; position < end; ++position) {
    if (position == piece->end) {
      ++piece;
    }
    hash = chain(hash, piece->token_zero + static_cast<std::uint64_t>(position));
  }
  return chain(parent, hash);
}

}  // namespace ridgeline::engine::vllm::plain

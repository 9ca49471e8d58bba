#include "engine/reference/content.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "domain/request.hpp"

namespace ridgeline::engine::reference {
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
  pieces_.reserve(request.prompt.size() + 2);
  std::int64_t named = 0;
  for (const auto& segment : request.prompt) {
    add(segment.content, segment.length.value());
    named += segment.length.value();
  }
  add(domain::unique_content(request.id), prompt - named);
  add(domain::output_content(request.id), std::numeric_limits<std::int64_t>::max() - prompt);
}

void TokenSequence::add(std::uint64_t content, std::int64_t length) {
  if (length > 0) {
    const std::int64_t begin = pieces_.empty() ? 0 : pieces_.back().end;
    pieces_.push_back({.begin = begin, .end = begin + length, .first_token = mix(content)});
  }
}

std::size_t TokenSequence::piece_at(std::int64_t position) const {
  const auto piece = std::upper_bound(
      pieces_.begin(), pieces_.end(), position, [](std::int64_t wanted, const Piece& one) {
        return wanted < one.end;
      });
  return static_cast<std::size_t>(piece - pieces_.begin());
}

std::uint64_t TokenSequence::hash_across(std::uint64_t parent,
                                         std::int64_t begin,
                                         std::int64_t end) {
  last_ = piece_at(begin);
  std::uint64_t hash = 0;
  for (std::int64_t position = begin;; ++last_) {
    const Piece& piece = pieces_[last_];
    const std::int64_t last = std::min(end, piece.end);
    hash = chain_run(hash, piece.token(position), last - position);
    if (last == end) {
      return chain(parent, hash);
    }
    position = last;
  }
}

}  // namespace ridgeline::engine::reference

#include "engine/vllm/plain/content.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/ids.hpp"
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

TokenSequence::TokenSequence(const domain::Request& request)
    : history_(request.prompt.history()), shared_(request.prompt.num_shared()) {
  const std::int64_t prompt = request.prompt_tokens.value();
  pieces_.reserve(request.prompt.own().size() + 2);
  std::int64_t named = shared_ > 0 ? history_->begin_of(shared_) : 0;
  for (const auto& segment : request.prompt.own()) {
    add(segment.content, named, segment.length.value());
    named += segment.length.value();
  }
  add(domain::unique_content(request.id), named, prompt - named);
  add(domain::output_content(request.id),
      prompt,
      std::numeric_limits<std::int64_t>::max() - prompt);
}

TokenSequence::TokenSequence(core::RequestId request, std::int64_t prompt_tokens) {
  add(domain::unique_content(request), 0, prompt_tokens);
  add(domain::output_content(request),
      prompt_tokens,
      std::numeric_limits<std::int64_t>::max() - prompt_tokens);
}

void TokenSequence::go_on(std::int64_t kept, const domain::Request& turn, std::int64_t generated) {
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.begin >= kept; });
  if (!pieces_.empty()) {
    pieces_.back().end = std::min(pieces_.back().end, kept);
  }
  std::int64_t named = kept;
  for (std::size_t i = 0; i < turn.prompt.size(); ++i) {
    const domain::Segment segment = turn.prompt[i];
    add(segment.content, named, segment.length.value());
    named += segment.length.value();
  }
  const std::int64_t end = kept + turn.prompt_tokens.value();
  add(domain::unique_content(turn.id), named, end - named);
  pieces_.push_back({.begin = end,
                     .end = std::numeric_limits<std::int64_t>::max(),
                     .first_token = mix(domain::output_content(turn.id)) +
                                    static_cast<std::uint64_t>(generated)});
  last_ = {};
}

void TokenSequence::add(std::uint64_t content, std::int64_t begin, std::int64_t length) {
  if (length > 0) {
    pieces_.push_back({.begin = begin, .end = begin + length, .first_token = mix(content)});
  }
}

TokenSequence::Piece TokenSequence::piece(std::size_t index) const {
  if (index >= shared_) {
    return pieces_[index - shared_];
  }
  return {.begin = history_->begin_of(index),
          .end = history_->begin_of(index + 1),
          .first_token = mix((*history_)[index].content)};
}

std::size_t TokenSequence::piece_at(std::int64_t position) const {
  std::size_t low = 0;
  for (std::size_t high = num_pieces() - 1; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    if (position < end_of(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::int64_t TokenSequence::common_tokens(const TokenSequence& other) const {
  std::size_t i = history_ == other.history_ ? std::min(shared_, other.shared_) : 0;
  std::int64_t common = i > 0 ? history_->begin_of(i) : 0;
  for (; i < num_pieces() && i < other.num_pieces(); ++i) {
    const Piece one = piece(i);
    const Piece two = other.piece(i);
    if (one.first_token != two.first_token) {
      break;
    }
    common = std::min(one.end, two.end);
    if (one.end != two.end) {
      break;
    }
  }
  return common;
}

std::uint64_t TokenSequence::hash_across(std::uint64_t parent,
                                         std::int64_t begin,
                                         std::int64_t end) {
  std::size_t index = piece_at(begin);
  std::uint64_t hash = 0;
  for (std::int64_t position = begin;; ++index) {
    last_ = piece(index);
    const std::int64_t last = std::min(end, last_.end);
    hash = chain_run(hash, last_.token(position), last - position);
    if (last == end) {
      return chain(parent, hash);
    }
    position = last;
  }
}

}  // namespace ridgeline::engine::vllm::plain

#include "engine/reference/content.hpp"

#include <cstddef>
#include <cstdint>

#include "domain/request.hpp"

namespace ridgeline::engine::reference {
namespace {

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): a bijection that mixes every bit.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}

constexpr std::uint64_t kGolden =
    0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio, SplitMix64's increment

}  // namespace

std::uint64_t token_at(std::uint64_t content, std::int64_t index) {
  return mix(mix(content + kGolden) + static_cast<std::uint64_t>(index));
}

std::uint64_t chain(std::uint64_t parent, std::uint64_t token) {
  return mix(parent * 3 + token + kGolden);
}

TokenSequence::TokenSequence(const domain::Request& request)
    : output_(domain::output_content(request.id)) {
  const auto length = static_cast<std::size_t>(request.prompt_tokens.value());
  prompt_.reserve(length);
  for (const auto& segment : request.prompt) {
    for (std::int64_t i = 0; i < segment.length.value(); ++i) {
      prompt_.push_back(token_at(segment.content, i));
    }
  }
  const std::uint64_t rest = domain::unique_content(request.id);
  for (std::int64_t i = 0; prompt_.size() < length; ++i) {
    prompt_.push_back(token_at(rest, i));
  }
}

std::uint64_t TokenSequence::operator[](std::int64_t position) const {
  const auto index = static_cast<std::size_t>(position);
  if (index < prompt_.size()) {
    return prompt_[index];
  }
  return token_at(output_, static_cast<std::int64_t>(index - prompt_.size()));
}

}  // namespace ridgeline::engine::reference

// Equal tokens, equal keys, in both twins: which blocks two requests can share.
#include "engine/vllm/plain/content.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine {
namespace {

constexpr std::int64_t kBlock = 16;

domain::Request request(std::uint32_t id,
                        std::int64_t tokens,
                        std::vector<domain::Segment> prompt) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(tokens);
  request.prompt = std::move(prompt);
  return request;
}

std::vector<std::uint64_t> keys(const domain::Request& request, int blocks) {
  const domain::Chain chain(request);
  std::vector<std::uint64_t> all;
  for (int i = 1; i <= blocks; ++i) {
    all.push_back(chain.key(i * kBlock));
  }
  return all;
}

std::vector<std::uint64_t> hashes(const domain::Request& request, int blocks) {
  const vllm::plain::TokenSequence tokens(request);
  std::vector<std::uint64_t> all;
  std::uint64_t hash = 0;
  for (std::int64_t i = 0; i < blocks * kBlock; ++i) {
    hash = vllm::plain::chain(hash, tokens[i]);
    if ((i + 1) % kBlock == 0) {
      all.push_back(hash);
    }
  }
  return all;
}

/// How many leading blocks agree, which both twins must see alike.
int shared_blocks(const domain::Request& a, const domain::Request& b, int blocks) {
  const auto common = [&](const auto& left, const auto& right) {
    int count = 0;
    while (count < blocks &&
           left[static_cast<std::size_t>(count)] == right[static_cast<std::size_t>(count)]) {
      ++count;
    }
    // Nothing behind the first difference agrees again: a block's key covers all before it.
    for (int i = count; i < blocks; ++i) {
      EXPECT_NE(left[static_cast<std::size_t>(i)], right[static_cast<std::size_t>(i)]);
    }
    return count;
  };
  const int fast = common(keys(a, blocks), keys(b, blocks));
  EXPECT_EQ(fast, common(hashes(a, blocks), hashes(b, blocks)));
  return fast;
}

TEST(Content, UniquePromptsShareNothing) {
  EXPECT_EQ(shared_blocks(request(1, 100, {}), request(2, 100, {}), 6), 0);
  EXPECT_EQ(shared_blocks(request(1, 100, {}), request(1, 100, {}), 6), 6);
}

TEST(Content, ACommonSegmentIsSharedUpToItsLastFullBlock) {
  // 40 common tokens are two full blocks of 16 and 8 tokens of a third.
  const auto a = request(1, 100, {{5, core::Tokens(40)}});
  const auto b = request(2, 80, {{5, core::Tokens(40)}});
  EXPECT_EQ(shared_blocks(a, b, 5), 2);
  // A longer cut of the same content agrees as far as the shorter goes.
  EXPECT_EQ(shared_blocks(a, request(3, 100, {{5, core::Tokens(33)}}), 6), 2);
  EXPECT_EQ(shared_blocks(a, request(3, 100, {{6, core::Tokens(40)}}), 6), 0);
}

TEST(Content, ALaterTurnSharesTheAnswerBeforeIt) {
  // Turn 1: 20 prompt tokens and 28 generated ones fill three blocks; turn 2 sends them again and
  // goes on.
  const auto first = request(1, 20, {{5, core::Tokens(20)}});
  const auto second = request(
      2,
      90,
      {{5, core::Tokens(20)}, {domain::output_content(core::RequestId(1)), core::Tokens(28)}});
  EXPECT_EQ(shared_blocks(first, second, 5), 3);
}

TEST(Content, OrderOfSegmentsMatters) {
  const auto ab = request(1, 64, {{5, core::Tokens(16)}, {6, core::Tokens(16)}});
  const auto ba = request(2, 64, {{6, core::Tokens(16)}, {5, core::Tokens(16)}});
  EXPECT_EQ(shared_blocks(ab, ba, 4), 0);
}

}  // namespace
}  // namespace ridgeline::engine

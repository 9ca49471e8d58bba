#include "domain/chain.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::domain {
namespace {

Request own_prompt(std::uint32_t id, std::uint32_t lora) {
  Request request;
  request.id = core::RequestId(id);
  request.lora = core::LoraId(lora);
  request.prompt_tokens = core::Tokens(20);
  return request;
}

TEST(Chain, KeysTellAdaptersAndRequestsApart) {
  // 2 xor 1 is 3 xor 0: numbers as near as these must not cancel each other out.
  const Chain a(own_prompt(2, 1));
  const Chain b(own_prompt(3, 0));
  EXPECT_NE(a.key(16), b.key(16));
  EXPECT_NE(a.key(16), Chain(own_prompt(2, 0)).key(16));
}

TEST(Chain, EqualPiecesHaveEqualKeys) {
  Request one = own_prompt(1, 7);
  one.prompt = {{.content = 5, .length = core::Tokens(12)}};
  Request other = own_prompt(2, 7);
  other.prompt = {{.content = 5, .length = core::Tokens(4)},
                  {.content = 5, .length = core::Tokens(8)}};
  // The first four tokens are the same; then `other` begins the content anew.
  EXPECT_EQ(Chain(one).key(4), Chain(other).key(4));
  EXPECT_NE(Chain(one).key(12), Chain(other).key(12));
  // Behind the twelfth token each goes on with what is its own.
  EXPECT_NE(Chain(one).key(16), Chain(other).key(16));
}

}  // namespace
}  // namespace ridgeline::domain

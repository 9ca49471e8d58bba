#include "engine/prefix_hashes.hpp"

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine {
namespace {

domain::Request with_prompt(std::uint64_t content, std::int64_t shared, std::int64_t all) {
  domain::Request one;
  one.id = core::RequestId(static_cast<core::RequestId::Rep>(shared));
  one.prompt_tokens = core::Tokens(all);
  one.prompt = {{content, core::Tokens(shared)}};
  return one;
}

TEST(PrefixHashes, AreOfFullBlocksAndEqualAsFarAsPromptsAre) {
  const auto first = prefix_hashes(with_prompt(7, 40, 70), core::Tokens(16));
  const auto second = prefix_hashes(with_prompt(7, 50, 64), core::Tokens(16));
  ASSERT_EQ(first.size(), 4U);
  ASSERT_EQ(second.size(), 4U);
  EXPECT_EQ(first[0], second[0]);
  EXPECT_EQ(first[1], second[1]);
  EXPECT_NE(first[2], second[2]);  // Tokens 40 to 47 differ, and so does all behind.
  EXPECT_NE(first[3], second[3]);
  EXPECT_TRUE(prefix_hashes(with_prompt(7, 5, 15), core::Tokens(16)).empty());
}

}  // namespace
}  // namespace ridgeline::engine

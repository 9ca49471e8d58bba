#include "routing/prefix_table.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/prompt.hpp"

namespace ridgeline::routing {
namespace {

using testing::ElementsAre;

domain::Chain chain_of(const domain::Prompt& prompt, std::int64_t tokens) {
  domain::Chain chain;
  chain.assign(prompt, core::Tokens(tokens), core::LoraId(), 1000, 1001);
  return chain;
}

TEST(BlockKeys, CountTheLastPartialBlockAndShareBeginnings) {
  const auto one = chain_of({{7, core::Tokens(300)}}, 300);
  const auto other = chain_of({{7, core::Tokens(130)}, {8, core::Tokens(100)}}, 230);
  const auto keys = block_keys(one, 300, 64, 1 << 20);
  const auto others = block_keys(other, 230, 64, 1 << 20);
  ASSERT_EQ(keys.size(), 5);
  ASSERT_EQ(others.size(), 4);
  EXPECT_EQ(keys[1], others[1]);
  EXPECT_NE(keys[2], others[2]);
  EXPECT_EQ(block_keys(one, 300, 64, 128).size(), 2);
}

TEST(PrefixTable, CountsWhatEachServerWasGiven) {
  PrefixTable table(2, 10);
  table.add(0, {{1, 2, 3}});
  table.add(1, {{1, 2, 9}});
  EXPECT_THAT(table.matches({{1, 2, 3, 4}}), ElementsAre(3, 2));
  EXPECT_THAT(table.matches({{4, 1}}), ElementsAre(0, 0));
}

TEST(PrefixTable, ForgetsTheLeastRecent) {
  PrefixTable table(1, 3);
  table.add(0, {{1, 2, 3}});
  table.add(0, {{1, 4}});  // 2 goes.
  EXPECT_THAT(table.matches({{1}}), ElementsAre(1));
  EXPECT_THAT(table.matches({{2}}), ElementsAre(0));
  EXPECT_THAT(table.matches({{3}}), ElementsAre(1));
}

TEST(PrefixTable, ForgetsAServerThatIsGone) {
  PrefixTable table(2, 10);
  table.add(0, {{1, 2}});
  table.add(1, {{1, 3}});
  table.forget(1);
  EXPECT_THAT(table.matches({{1, 2}}), ElementsAre(2, 0));
  EXPECT_THAT(table.matches({{3}}), ElementsAre(0, 0));
  table.add(1, {{3}});
  EXPECT_THAT(table.matches({{3}}), ElementsAre(0, 1));
  table.forget(7);
}

TEST(PrefixTable, APromptLongerThanItsMemoryLeavesEntriesBehind) {
  PrefixTable table(1, 2);
  table.add(0, {{1, 2, 3}});  // 1 is pushed out, and still counts.
  EXPECT_THAT(table.matches({{1, 2, 3}}), ElementsAre(3));
}

}  // namespace
}  // namespace ridgeline::routing

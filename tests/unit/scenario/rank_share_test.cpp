#include "scenario/rank_share.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::scenario {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> numbers(const RankShare& share, std::int64_t requests) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n < share.requests(requests); ++n) {
    all.push_back(share.number(n));
  }
  return all;
}

TEST(RankShare, OneRankHasEverything) {
  const RankShare share(1, {.clients = 9, .closed_loop = true, .requests = 100});
  EXPECT_EQ(share.clients(9), 9);
  EXPECT_EQ(share.requests(100), 100);
  EXPECT_EQ(share.rate(2.5), 2.5);
  EXPECT_EQ(share.number(99), 99);
  EXPECT_EQ(share.times(), 1.0);
}

// 100 requests to 8 ranks in turn: number 0, 8, ..., 96, which are 13.
TEST(RankShare, RequestsGoInTurn) {
  const RankShare share(8, {.requests = 100});
  EXPECT_EQ(share.loaded_ranks(), 8);
  EXPECT_EQ(share.requests(100), 13);
  EXPECT_EQ(share.number(12), 96);
  EXPECT_EQ(share.rate(10.0), 1.25);
  EXPECT_DOUBLE_EQ(share.times(), 100.0 / 13.0);
  EXPECT_EQ(RankShare(8, {}).times(), 8.0);
}

TEST(RankShare, NoMoreRanksAreLoadedThanThereAreClientsOrRequests) {
  const RankShare clients(8, {.clients = 4, .closed_loop = true, .requests = 100});
  EXPECT_EQ(clients.loaded_ranks(), 4);
  EXPECT_EQ(clients.clients(4), 1);
  EXPECT_EQ(clients.requests(100), 25);
  EXPECT_EQ(clients.times(), 4.0);
  const RankShare requests(8, {.requests = 4});
  EXPECT_EQ(requests.loaded_ranks(), 4);
  EXPECT_EQ(requests.requests(4), 1);
  EXPECT_EQ(requests.times(), 4.0);
  const RankShare capped(8, {.clients = 2, .requests = 100});
  EXPECT_EQ(capped.clients(2), 1);
  EXPECT_EQ(capped.rate(8.0), 4.0);
  EXPECT_EQ(capped.times(), 2.0);
}

// 9 clients on 8 ranks: this one has 2 of them, and so 2 of 9 requests.
TEST(RankShare, ARankWithOneClientMoreHasMoreRequests) {
  const RankShare share(8, {.clients = 9, .closed_loop = true, .requests = 18});
  EXPECT_EQ(share.clients(9), 2);
  EXPECT_THAT(numbers(share, 18), ElementsAre(0, 4, 9, 13));
  EXPECT_EQ(share.times(), 4.5);
  // Without a number of requests, in seconds: 4.5 ranks like this one.
  EXPECT_EQ(RankShare(8, {.clients = 9, .closed_loop = true}).times(), 4.5);
  // Clients without a request never send.
  const RankShare few(8, {.clients = 64, .closed_loop = true, .requests = 3});
  EXPECT_EQ(few.loaded_ranks(), 3);
  EXPECT_EQ(few.requests(3), 1);
}

TEST(RankShare, HoldsTheLargestNumbers) {
  constexpr std::int64_t kMost = 4'294'967'295;
  const RankShare share(2, {.clients = kMost, .closed_loop = true, .requests = kMost});
  EXPECT_EQ(share.requests(kMost), kMost / 2 + 1);
  EXPECT_EQ(share.clients(kMost), kMost / 2 + 1);
}

}  // namespace
}  // namespace ridgeline::scenario

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "document/document.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Random, IsUniformOverSeeds) {
  const auto router = maker_of("random")({});
  // 10,000 draws of 4: a standard deviation is 43.
  for (const double count :
       test::counts_over_seeds(*router, test::views_with({9, 0, 0, 3}), 10'000)) {
    EXPECT_NEAR(count, 2500, 173);
  }
  EXPECT_TRUE(router->needs().nothing());
}

TEST(Random, TakesEachInProportionToItsWeight) {
  const auto router = maker_of("random")({});
  // 10,000 draws: standard deviations of 40, 49 and 30.
  const auto counts =
      test::counts_over_seeds(*router, test::weighted_views({2.0, 6.0, 1.0, 1.0}), 10'000);
  EXPECT_NEAR(counts[0], 2000, 160);
  EXPECT_NEAR(counts[1], 6000, 196);
  EXPECT_NEAR(counts[2], 1000, 120);
}

TEST(RandomByConnection, AConnectionStaysUntilItsInstanceIsGone) {
  const NamedValue affinity{.name = "affinity", .value = document::Node::string("connection", {})};
  const auto router = maker_of("random")({.parameters = {affinity}, .connections = 100});
  const auto views = test::views_with({0, 0, 0, 0});
  std::vector<std::uint32_t> of_connection;
  std::vector<std::int64_t> counts(4);
  for (std::uint32_t id = 0; id < 100; ++id) {
    of_connection.push_back(test::route(*router, views, id, id));
    ++counts[of_connection.back()];
  }
  EXPECT_THAT(counts, testing::Each(testing::Gt(8)));  // 25, four standard deviations: 17 off.
  for (std::uint32_t id = 100; id < 300; ++id) {
    EXPECT_EQ(test::route(*router, views, id, id), of_connection[id % 100]);
  }
  // A session is a connection of its own.
  const std::uint32_t at = test::route(*router, views, 300, 1, core::SessionId(7));
  EXPECT_EQ(test::route(*router, views, 301, 2, core::SessionId(7)), at);
  // Without its instance it opens again elsewhere, and stays there.
  auto fewer = views;
  fewer.erase(fewer.begin() + of_connection[0]);
  const std::uint32_t next = test::route(*router, fewer, 400, 5);
  EXPECT_NE(next, of_connection[0]);
  EXPECT_EQ(test::route(*router, views, 500, 6), next);
}

TEST(RandomByConnection, WithoutKeepAliveEveryRequestIsOne) {
  const NamedValue affinity{.name = "affinity", .value = document::Node::string("connection", {})};
  const auto router = maker_of("random")({.parameters = {affinity}});
  std::vector<std::int64_t> counts(2);
  for (std::uint32_t id = 0; id < 1000; ++id) {
    ++counts[test::route(*router, test::views_with({0, 0}), id, id)];
  }
  EXPECT_THAT(counts, testing::Each(testing::Gt(436)));  // Four standard deviations of 500: 64.
}

}  // namespace
}  // namespace ridgeline::routing

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Session, StaysAndMovesOnlyToANewInstance) {
  const auto router = maker_of("session")({});
  const auto four = test::views_with({9, 0, 0, 0});
  const auto five = test::views_with({9, 0, 0, 0, 0});
  std::vector<std::int64_t> counts(4);
  for (std::uint32_t session = 0; session < 1000; ++session) {
    const core::SessionId id(session);
    const std::uint32_t at = test::route(*router, four, session, 0, id);
    ++counts[at];
    EXPECT_EQ(test::route(*router, four, session + 5000, 1, id), at);
    EXPECT_THAT(test::route(*router, five, session, 0, id), testing::AnyOf(at, 4U));
  }
  EXPECT_THAT(counts, testing::Each(testing::Gt(190)));
}

TEST(Session, ARequestWithoutOneIsASessionByItself) {
  const auto router = maker_of("session")({});
  const auto views = test::views_with({0, 0});
  std::vector<std::int64_t> counts(2);
  for (std::uint32_t id = 0; id < 1000; ++id) {
    ++counts[test::route(*router, views, id)];
  }
  EXPECT_THAT(counts, testing::Each(testing::Gt(430)));
}

}  // namespace
}  // namespace ridgeline::routing

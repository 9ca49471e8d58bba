#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Hashed, SessionsStay) {
  const auto views = test::views_with({5, 0, 0, 0});
  for (const auto& router : {maker_of("ring-hash"), maker_of("maglev")}) {
    const auto one = router({});
    std::vector<std::int64_t> counts(4);
    for (std::uint32_t session = 0; session < 400; ++session) {
      const std::uint32_t at = test::route(*one, views, session, 0, core::SessionId(session));
      EXPECT_EQ(test::route(*one, views, session + 1000, 1, core::SessionId(session)), at);
      ++counts[at];
    }
    for (const std::int64_t count : counts) {
      EXPECT_GT(count, 50);  // 100, less five standard deviations of draws and a thirtieth.
    }
    EXPECT_TRUE(one->needs().nothing());
  }
}

TEST(PrefixHash, LeavesAnInstanceThatHasMoreThanItsShare) {
  const auto router = maker_of("sglang-prefix-hash")({});
  auto views = test::views_with({0, 0, 0, 0});
  const std::uint32_t own = test::route_prompt(*router, views, 0, 7, 600);
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 600), own);
  // With the request at hand 8 are in flight, 2 each: 2.5 is the limit.
  for (InstanceView& view : views) {
    view.own.requests = 2;
  }
  views[(own + 1) % 4].own.requests = 1;
  EXPECT_EQ(test::route_prompt(*router, views, 2, 7, 600), own);
  views[own].own.requests = 3;
  views[(own + 1) % 4].own.requests = 0;
  EXPECT_NE(test::route_prompt(*router, views, 3, 7, 600), own);
}

}  // namespace
}  // namespace ridgeline::routing

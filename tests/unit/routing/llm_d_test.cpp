#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(LlmD, WeighsPrefixAgainstLoad) {
  const auto router = make_llm_d();
  auto views = test::views_with({0, 0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  // The same beginning goes there again, 3 x 640/660 of it matched, while loads are equal ...
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  // ... and not when it alone has a queue and a full cache: 4 against 3 at most.
  views[first].gauges = {.waiting = 5, .running = 0, .kv_usage = 1.0};
  EXPECT_NE(test::route_prompt(*router, views, 2, 7, 640), first);
  EXPECT_TRUE(router->needs().gauges);
}

TEST(LlmD, StickyStaysUntilItIsFarTooLate) {
  const auto router = make_llm_d_sticky();
  auto views = test::views_with({0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  views[first].own.prefill_tokens = 280'000;
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  views[first].own.prefill_tokens = 290'000;
  EXPECT_NE(test::route_prompt(*router, views, 2, 7, 640), first);
  EXPECT_TRUE(router->needs().first_token);
}

TEST(LlmDPrecise, GoesByWhatTheEventsTell) {
  const auto router = make_llm_d_precise();
  EXPECT_TRUE(router->needs().cache);
  auto views = test::views_with({0, 0, 0});
  views[2].cached_tokens = 160;
  EXPECT_EQ(test::route_prompt(*router, views, 0, 7, 300), 2U);
  // It remembers nothing of its own.
  views[2].cached_tokens = 0;
  views[0].cached_tokens = 16;
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 300), 0U);
}

}  // namespace
}  // namespace ridgeline::routing

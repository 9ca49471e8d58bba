// What inference-sim gets wrong in routing, by the numbers under which its faults are listed: each
// test fails where the router does the same.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

/// W25: requests in flight include those that wait and run, and are not added to them.
TEST(BlisWrongs, W25RequestsInFlightCountOnce) {
  auto views = test::views_with({2, 3});
  views[0].gauges = {.waiting = 1, .running = 1};  // Two requests: four, if counted twice.
  const auto router = maker_of("least-request")({});
  EXPECT_EQ(test::route(*router, views), 0U);
}

/// How many of 16 arrivals between two readings of the gauges each of four instances gets, after a
/// reading that showed one waiting request more at all but the last.
std::vector<std::int64_t> between_readings(Router& router) {
  auto views = test::views_with({1, 1, 1, 0});
  for (std::size_t i = 0; i < 3; ++i) {
    views[i].gauges.waiting = 1;
  }
  std::vector<std::int64_t> counts(views.size());
  for (std::uint32_t id = 0; id < 16; ++id) {
    const std::uint32_t at = test::route(router, views, id);
    ++counts[at];
    ++views[at].own.requests;
  }
  return counts;
}

/// W76: a difference of one request must not send all arrivals to one instance until the next
/// reading. What a router counts itself is fresh; the blis preset herds as its scorers do.
TEST(BlisWrongs, W76ADifferenceOfOneDoesNotHerd) {
  const auto fresh =
      maker_of("llm-d")({.scorers = {{.name = "active-request-scorer", .weight = 1.0}}});
  const auto spread = between_readings(*fresh);
  EXPECT_LE(*std::ranges::max_element(spread) - *std::ranges::min_element(spread), 1);
  const auto scored = maker_of("blis")({.scorers = {{.name = "queue-depth", .weight = 1.0}}});
  EXPECT_EQ(between_readings(*scored), (std::vector<std::int64_t>{0, 0, 0, 16}));
}

}  // namespace
}  // namespace ridgeline::routing

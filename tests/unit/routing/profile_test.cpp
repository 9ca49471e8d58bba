#include "routing/profile.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "domain/request.hpp"
#include "routing/filter_registry.hpp"
#include "routing/filters.hpp"
#include "routing/router.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Profile, DrawsAmongTheHighestSums) {
  const auto router =
      make_profile_router({.scorers = {{.name = "active-request-scorer", .weight = 2.0}}}, {});
  const auto counts = test::counts_over_seeds(*router, test::views_with({2, 1, 1}), 4'000);
  EXPECT_EQ(counts[0], 0.0);
  EXPECT_NEAR(counts[1], 2000, 127);  // Four standard deviations.
}

NamedFilter at_most(double requests, bool all_if_empty = false) {
  return {.name = "utilization-filter",
          .limits = {{.metric = Utilization::kInFlight, .highest = requests}},
          .all_if_empty = all_if_empty};
}

Pick decide(Router& router, const std::vector<InstanceView>& views) {
  const domain::RequestView request;
  core::RngStream draws(0, 0, "routing", 0);
  return router.pick({.request = request, .prompt = {}, .instances = views, .now = {}}, draws);
}

TEST(Profile, FiltersComeBeforeItsScorers) {
  // All score alike: without the filter each would have a quarter.
  const Profile profile{.scorers = {{.name = "prefix-cache-scorer"}}};
  const auto router = make_profile_router(profile, {.filters = {at_most(1)}});
  const auto counts = test::counts_over_seeds(*router, test::views_with({2, 1, 5, 1}), 1'000);
  EXPECT_EQ(counts[0], 0.0);
  EXPECT_EQ(counts[2], 0.0);
  EXPECT_NEAR(counts[1], 500, 64);  // Four standard deviations.
}

TEST(Profile, RefusesWhereAFilterLeavesNone) {
  const Profile profile{.scorers = {{.name = "active-request-scorer"}}};
  const auto views = test::views_with({3, 2});
  const Pick refused = decide(*make_profile_router(profile, {.filters = {at_most(1)}}), views);
  EXPECT_TRUE(refused.is_refusal());
  EXPECT_EQ(refused.reason, Reason::kFilter);
  const Pick fallen_back =
      decide(*make_profile_router(profile, {.filters = {at_most(1, true)}}), views);
  EXPECT_EQ(fallen_back.instance, core::InstanceId(1));
}

TEST(Profile, AFilterKeepsSessionsWhateverTheScores) {
  const auto router =
      make_profile_router({.scorers = {{.name = "active-request-scorer", .weight = 1.0}}},
                          {.filters = {{.name = "session-affinity-filter"}}});
  const core::SessionId session(7);
  EXPECT_EQ(test::route(*router, test::views_with({0, 1}), 0, 0, session), 0U);
  EXPECT_EQ(test::route(*router, test::views_with({9, 1}), 1, 0, session), 0U);
  EXPECT_EQ(test::route(*router, test::views_with({9, 1}), 2, 0, core::SessionId(8)), 1U);
  router->on_gone(core::InstanceId(0));
  EXPECT_EQ(test::route(*router, test::views_with({9, 1}), 3, 0, session), 1U);
}

TEST(Profile, PrefersTheNeighboursOfTheOtherLeg) {
  const auto router =
      make_profile_router({.scorers = {{.name = "topology-affinity-scorer", .weight = 1.0}}}, {});
  const auto views = test::views_with({0, 0, 0});
  const std::vector<Site> sites = {{.host = 0}, {.host = 1}, {.host = 2}, {.host = 1}};
  const domain::RequestView request;
  core::RngStream draws(0, 0, "routing", 0);
  const RouteInput input{.request = request,
                         .prompt = {},
                         .instances = views,
                         .now = {},
                         .sites = sites,
                         .other_leg = core::InstanceId(3)};
  const Pick pick = router->pick(input, draws);
  EXPECT_EQ(pick.instance, core::InstanceId(1));
  EXPECT_EQ(pick.equals, 1U);
}

}  // namespace
}  // namespace ridgeline::routing

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Dynamo, WeighsOverlapAgainstBlocksInFlight) {
  const auto router = maker_of("dynamo")({});
  auto views = test::views_with({0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  // The shared 40 blocks are in flight there already: they count once.
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  // There 40 blocks need no computation and 43 are held with this one, on the other 41: worth 38
  // blocks of prefill that wait.
  views[first].own.prefill_tokens = 37 * 16;
  EXPECT_EQ(test::route_prompt(*router, views, 2, 7, 640), first);
  views[first].own.prefill_tokens = 39 * 16;
  EXPECT_NE(test::route_prompt(*router, views, 3, 7, 640), first);
}

/// Which instance gets a prompt of 640 tokens, 40 blocks, that tiers have.
std::uint32_t choose_by_tiers(const std::vector<InstanceView>& views,
                              const std::vector<TierTokens>& tiers,
                              const RouterSetup& setup = {}) {
  const auto router = maker_of("dynamo")(setup);
  domain::RequestView request;
  request.id = core::RequestId(0);
  request.prompt_tokens = core::Tokens(640);
  const domain::Prompt prompt = {{7, core::Tokens(640)}};
  core::RngStream draws(0, 0, "routing", 0);
  return router
      ->pick({.request = request, .prompt = prompt, .instances = views, .now = {}, .tiers = tiers},
             draws)
      .instance.value();
}

/// 40 blocks in host memory are worth 30 to compute, on disk 10, and in a store nothing unless the
/// multiplier says so.
TEST(Dynamo, CreditsTiersOutsideTheGpus) {
  auto views = test::views_with({0, 0});
  views[1].own.prefill_tokens = 29 * 16;
  EXPECT_EQ(choose_by_tiers(views, {{}, {.host = 640}}), 1U);
  EXPECT_EQ(choose_by_tiers(views, {{}, {.disk = 640}}), 0U);
  EXPECT_EQ(choose_by_tiers(views, {{}, {.shared = 640}}), 0U);
  EXPECT_EQ(choose_by_tiers(views,
                            {{}, {.shared = 640}},
                            {.parameters = {{.name = "shared_cache_multiplier",
                                             .value = document::Node::real(0.9, {})}}}),
            1U);
  views[1].own.prefill_tokens = 31 * 16;
  EXPECT_EQ(choose_by_tiers(views, {{}, {.host = 640}}), 0U);
  views[1].own.prefill_tokens = 9 * 16;
  EXPECT_EQ(choose_by_tiers(views, {{}, {.disk = 640}}), 1U);
}

TEST(Dynamo, ForgetsTheBlocksOfEndedRequests) {
  const auto router = maker_of("dynamo")({});
  const auto views = test::views_with({0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  // Another prompt goes to the other one, until the first has ended: then it is a draw.
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t id = 1; id < 30; ++id) {
    chosen.push_back(test::route_prompt(*router, views, id, 100 + id, 640));
    router->on_end(core::RequestId(id), core::InstanceId(chosen.back()));
  }
  EXPECT_EQ(std::ranges::count(chosen, first), 0);
  router->on_end(core::RequestId(0), core::InstanceId(first));
  chosen.clear();
  for (std::uint32_t id = 30; id < 60; ++id) {
    chosen.push_back(test::route_prompt(*router, views, id, 100 + id, 640));
    router->on_end(core::RequestId(id), core::InstanceId(chosen.back()));
  }
  EXPECT_GT(std::ranges::count(chosen, first), 5);
}

}  // namespace
}  // namespace ridgeline::routing

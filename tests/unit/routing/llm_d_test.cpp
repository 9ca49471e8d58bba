#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/request.hpp"
#include "routing/parameters.hpp"
#include "routing/predictor.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(LlmD, WeighsPrefixAgainstLoad) {
  const auto router = maker_of("llm-d")({});
  auto views = test::views_with({0, 0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  // This beginning goes there again, 3 x 640/660 of it matched, while loads are equal ...
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  // ... and not when it alone has a queue and a full cache: 4 against 3 at most.
  views[first].gauges = {.waiting = 5, .running = 0, .kv_usage = 1.0};
  EXPECT_NE(test::route_prompt(*router, views, 2, 7, 640), first);
  EXPECT_TRUE(router->needs().gauges);
}

TEST(LlmD, StickyStaysUntilItIsFarTooLate) {
  const auto router = maker_of("llm-d-sticky")({});
  auto views = test::views_with({0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  views[first].own.prefill_tokens = 280'000;
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  views[first].own.prefill_tokens = 290'000;
  EXPECT_NE(test::route_prompt(*router, views, 2, 7, 640), first);
  EXPECT_TRUE(router->needs().first_token);
}

/// Predicts so many milliseconds at each instance, whatever it is asked with.
class ToldPredictor final : public LatencyPredictor {
 public:
  explicit ToldPredictor(std::vector<Latency> latencies) : latencies_(std::move(latencies)) {}
  [[nodiscard]] Latency predict(const Prospect& prospect) const override {
    return latencies_[prospect.instance.value()];
  }

 private:
  std::vector<Latency> latencies_;
};

std::uint32_t pick_predicted(std::vector<Latency> latencies,
                             const LatencyTargets& targets,
                             std::vector<NamedValue> parameters = {}) {
  parameters.push_back({"epsilonExploreNeg", document::Node::real(0.0, {})});
  const auto router = maker_of("llm-d-latency")(
      {.parameters = std::move(parameters),
       .predictor = std::make_shared<ToldPredictor>(std::move(latencies))});
  const auto views = test::views_with({1, 1, 1});
  domain::RequestView request;
  request.id = core::RequestId(0);
  request.prompt_tokens = core::Tokens(100);
  core::RngStream draws(0, 0, "routing", 0);
  return router
      ->pick({.request = request, .prompt = {}, .instances = views, .now = {}, .targets = targets},
             draws)
      .instance.value();
}

TEST(LlmDLatency, FillsWhereTheTargetsAreJustMet) {
  const std::vector<Latency> latencies = {{100.0, 10.0}, {300.0, 20.0}, {700.0, 30.0}};
  // The third is late; of the others the second has the least time left.
  EXPECT_EQ(pick_predicted(latencies, {500.0, 50.0}), 1U);
  // All are late: the one that is least so.
  EXPECT_EQ(pick_predicted(latencies, {50.0, 5.0}), 0U);
  // Without targets the soonest, and a target alone decides alone.
  EXPECT_EQ(pick_predicted(latencies, {}), 0U);
  EXPECT_EQ(pick_predicted(latencies, {.ttft_ms = 800.0}), 2U);
}

TEST(LlmDLatency, NeedsWhatItsPredictorAsks) {
  const auto router = maker_of("llm-d-latency")({});
  EXPECT_TRUE(router->needs().gauges && router->needs().first_token);
  // Without a predictor it goes by caches and queues: the second is full.
  auto views = test::views_with({0, 0});
  views[1].gauges = {.waiting = 9, .running = 9, .kv_usage = 1.0};
  EXPECT_EQ(test::route(*router, views), 0U);
}

TEST(LlmDPrecise, GoesByWhatTheEventsTell) {
  const auto router = maker_of("llm-d-precise")({});
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

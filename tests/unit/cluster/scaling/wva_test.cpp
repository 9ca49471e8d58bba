#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "readings.hpp"

namespace ridgeline::scaling {
namespace {

TEST(Wva, AddsOneWhereLittleIsSpareAndWaitsForIt) {
  const auto wva = make_wva(settings_of("wva"));
  UniformPool pool{.replicas = 3, .ready = 3, .each = {.kv_usage = 0.75}};
  EXPECT_EQ(pool.decide(*wva, second(30)).replicas, 4);  // 0.80 - 0.75 is below 0.1.
  pool.replicas = 4;                                     // The fourth loads.
  EXPECT_EQ(pool.decide(*wva, second(60)).replicas, 4);
  pool.ready = 4;
  EXPECT_EQ(pool.decide(*wva, second(90)).replicas, 5);
}

TEST(Wva, TakesOneWhereTheOthersCanBearIt) {
  const auto wva = make_wva(settings_of("wva"));
  UniformPool pool{.replicas = 3, .ready = 3, .each = {.kv_usage = 0.5}};
  // 0.5 * 3 / 2 = 0.75 on two: only 0.05 spare.
  EXPECT_EQ(pool.decide(*wva, second(30)).replicas, 3);
  pool.each.kv_usage = 0.4;
  EXPECT_EQ(pool.decide(*wva, second(60)).replicas, 2);
}

TEST(Wva, TheSecondAnalyserCountsTokens) {
  ScalerSettings settings = settings_of("wva");
  settings.analyzer = Analyzer::kV2;
  const auto wva = make_wva(settings);
  // Supply 2 * 800; demand 2 * (700 + 500) = 2400: 2400 / 0.85 - 1600 = 1223 more, two replicas.
  UniformPool pool{.replicas = 2,
                   .ready = 2,
                   .each = {.waiting = 2,
                            .kv_usage = 0.7,
                            .queued_tokens = core::Tokens(500),
                            .kv_capacity = core::Tokens(1000)}};
  EXPECT_EQ(pool.decide(*wva, second(30)).replicas, 4);
  // 3 * 300 / 0.70 = 1286 of 2400: spare 1114, one replica of 800.
  pool = {.replicas = 3, .ready = 3, .each = {.kv_usage = 0.3, .kv_capacity = core::Tokens(1000)}};
  EXPECT_EQ(pool.decide(*wva, second(60)).replicas, 2);
}

TEST(Wva, EmptiesAPoolTenMinutesAfterTheLastRequest) {
  const auto wva = make_wva(settings_of("wva"));
  UniformPool pool{.min_replicas = 0, .each = {.running = 1}};
  EXPECT_EQ(pool.decide(*wva, second(30)).replicas, 1);
  pool.each.running = 0;
  EXPECT_EQ(pool.decide(*wva, second(600)).replicas, 1);
  EXPECT_EQ(pool.decide(*wva, second(630)).replicas, 0);
  pool = {.replicas = 0, .ready = 0, .min_replicas = 0, .held = 1};
  EXPECT_EQ(pool.decide(*wva, second(660)).replicas, 1);
}

/// Variants whose ready replicas all show the same.
std::vector<std::int64_t> decide(Scaler& wva,
                                 const std::vector<Variant>& variants,
                                 const ReplicaReading& each,
                                 core::SimTime now) {
  std::vector<PoolReading> readings = {{.at = now, .held = 1}};
  PoolHistory history{.readings = readings, .variants = variants};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    history.replicas += variants[i].replicas;
    history.min_replicas += variants[i].min_replicas;
    for (std::int64_t replica = 0; replica < variants[i].ready; ++replica) {
      readings.front().replicas.push_back(each);
      readings.front().replicas.back().variant = i;
      readings.front().replicas.back().kv_capacity = variants[i].kv_capacity;
    }
  }
  history.readings = readings;
  return wva.evaluate(history, now).by_variant;
}

Variant variant(std::int64_t replicas, double cost, std::int64_t most = 100) {
  return {.replicas = replicas,
          .ready = replicas,
          .min_replicas = 1,
          .max_replicas = most,
          .cost = cost,
          .kv_capacity = core::Tokens(1000)};
}

using Targets = std::vector<std::int64_t>;

TEST(WvaOverVariants, TheCheapestWithoutOneOnItsWayGrows) {
  const ReplicaReading loaded{.kv_usage = 0.75};
  EXPECT_EQ(decide(*make_wva(settings_of("wva")),
                   {variant(2, 3.0), variant(2, 1.0), variant(2, 2.0)},
                   loaded,
                   second(30)),
            (Targets{2, 3, 2}));
  // One that is at its bound leaves it to the next.
  EXPECT_EQ(decide(*make_wva(settings_of("wva")),
                   {variant(2, 3.0), variant(2, 1.0, 2), variant(2, 2.0)},
                   loaded,
                   second(30)),
            (Targets{2, 2, 3}));
}

TEST(WvaOverVariants, TheDearestWithTwoOrMoreShrinks) {
  const ReplicaReading idle{.kv_usage = 0.1};
  EXPECT_EQ(decide(*make_wva(settings_of("wva")),
                   {variant(1, 3.0), variant(2, 1.0), variant(2, 2.0)},
                   idle,
                   second(30)),
            (Targets{1, 2, 1}));
}

TEST(WvaOverVariants, TokensAreSpreadByPrice) {
  ScalerSettings settings = settings_of("wva");
  settings.analyzer = Analyzer::kV2;
  // Demand 4 * (900 + 512), supply 4 * 800: 5648 / 0.85 - 3200 = 3445 more, five replicas: two of
  // the cheaper, which then are at their bound, and three of the dearer.
  const ReplicaReading loaded{.waiting = 1, .kv_usage = 0.9, .queued_tokens = core::Tokens(512)};
  EXPECT_EQ(decide(*make_wva(settings), {variant(2, 3.0), variant(2, 1.0, 4)}, loaded, second(30)),
            (Targets{5, 4}));
  // Demand 0.1 of 5 * 1000: 4000 - 500 / 0.7 = 3286 to spare, four replicas: those that are dear
  // first, and one of each stays.
  EXPECT_EQ(
      decide(
          *make_wva(settings), {variant(3, 3.0), variant(2, 1.0)}, {.kv_usage = 0.1}, second(30)),
      (Targets{1, 1}));
}

TEST(WvaOverVariants, TheCheapestComesFirstFromNone) {
  Variant dear = variant(0, 3.0);
  Variant cheap = variant(0, 1.0);
  dear.min_replicas = cheap.min_replicas = 0;
  EXPECT_EQ(decide(*make_wva(settings_of("wva")), {dear, cheap}, {}, second(30)), (Targets{0, 1}));
}

}  // namespace
}  // namespace ridgeline::scaling

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "readings.hpp"
#include "scaling/metric.hpp"
#include "scaling/policies/policies.hpp"
#include "scaling/registry.hpp"

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

}  // namespace
}  // namespace ridgeline::scaling

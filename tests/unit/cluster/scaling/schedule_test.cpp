#include <gtest/gtest.h>

#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "core/time.hpp"
#include "readings.hpp"

namespace ridgeline::scaling {
namespace {

TEST(Schedule, ChangesAtItsInstants) {
  ScalerSettings settings;
  settings.replicas_at = {{second(10), 4}, {second(600), 8}};
  const auto schedule = make_schedule(settings);
  const UniformPool pool{.replicas = 2};
  EXPECT_EQ(schedule->next_decision(second(0)), second(10));
  EXPECT_EQ(pool.decide(*schedule, second(9)).replicas, 2);
  EXPECT_EQ(pool.decide(*schedule, second(10)).replicas, 4);
  EXPECT_EQ(schedule->next_decision(second(10)), second(600));
  EXPECT_EQ(pool.decide(*schedule, second(601)).replicas, 8);
  EXPECT_EQ(schedule->next_decision(second(600)), core::SimTime::never());
}

TEST(Schedule, AppliesWhatIsListedForTheStartOnce) {
  ScalerSettings settings;
  settings.replicas_at = {{second(0), 4}, {second(600), 8}};
  const auto schedule = make_schedule(settings);
  const UniformPool pool{.replicas = 2};
  EXPECT_EQ(schedule->next_decision(second(0)), second(0));
  EXPECT_EQ(pool.decide(*schedule, second(0)).replicas, 4);
  EXPECT_EQ(schedule->next_decision(second(0)), second(600));
}

TEST(Scalers, UnknownNamesFindTheNearest) {
  EXPECT_EQ(find_scaler("keida").error().front().hint, "did you mean 'keda'?");
  EXPECT_TRUE((*find_scaler("hpa"))->reads_setting("target"));
  EXPECT_FALSE((*find_scaler("wva"))->reads_setting("target"));
}

}  // namespace
}  // namespace ridgeline::scaling

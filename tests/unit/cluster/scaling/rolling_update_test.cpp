#include "cluster/scaling/rolling_update.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace ridgeline::scaling {
namespace {

constexpr CountOrPercent kQuarter{.value = 25, .is_percent = true};

TEST(CountOrPercent, IsANumberOrAShare) {
  EXPECT_EQ(count_or_percent("2"), (CountOrPercent{.value = 2}));
  EXPECT_EQ(count_or_percent("25%"), kQuarter);
  for (const char* const wrong : {"", "%", "-1", "2.5", "101%", "x", "2 "}) {
    EXPECT_EQ(count_or_percent(wrong), std::nullopt) << wrong;
  }
}

/// Kubernetes' documentation: of 10 with 25 % each, 13 at most and 8 ready at least.
TEST(UpdateLimits, RoundASurgeUpAndWhatIsMissingDown) {
  EXPECT_EQ(update_limits(10, {}), (UpdateLimits{.replicas = 10, .surge = 3, .unavailable = 2}));
  EXPECT_EQ(update_limits(3, {.surge = {.value = 0}}),
            (UpdateLimits{.replicas = 3, .surge = 0, .unavailable = 1}));
  EXPECT_EQ(update_limits(2, {.surge = {.value = 1}, .unavailable = {.value = 9}}),
            (UpdateLimits{.replicas = 2, .surge = 1, .unavailable = 2}));
}

TEST(UpdateStep, StartsTheSurgeAndRetiresWhatMayBeMissing) {
  const UpdateLimits limits{.replicas = 10, .surge = 3, .unavailable = 2};
  EXPECT_EQ(update_step(limits, {.old_ready = 10, .free_places = 3}),
            (UpdateStep{.start = 3, .retire_ready = 2}));
  // Two are missing, and three more start: nothing until one is ready.
  EXPECT_EQ(update_step(limits, {.old_ready = 8, .new_unready = 3, .free_places = 2}),
            (UpdateStep{.start = 2}));
  EXPECT_EQ(update_step(limits, {.old_ready = 8, .new_unready = 5}), UpdateStep{});
  EXPECT_EQ(update_step(limits, {.old_ready = 8, .new_ready = 1, .new_unready = 4}),
            (UpdateStep{.retire_ready = 1}));
}

TEST(UpdateStep, WithoutASurgeWaitsForAPlace) {
  const UpdateLimits limits{.replicas = 2, .surge = 0, .unavailable = 1};
  EXPECT_EQ(update_step(limits, {.old_ready = 2}), (UpdateStep{.retire_ready = 1}));
  EXPECT_EQ(update_step(limits, {.old_ready = 1}), UpdateStep{});  // The other one drains.
  EXPECT_EQ(update_step(limits, {.old_ready = 1, .free_places = 1}), (UpdateStep{.start = 1}));
}

TEST(UpdateStep, OldOnesThatAreNotReadyGoFirst) {
  const UpdateLimits limits{.replicas = 4, .surge = 1, .unavailable = 1};
  EXPECT_EQ(update_step(limits, {.old_ready = 3, .old_unready = 1, .free_places = 1}),
            (UpdateStep{.start = 1, .retire_unready = 1}));
  EXPECT_EQ(update_step(limits, {.new_ready = 4, .free_places = 1}), UpdateStep{});
}

/// An autoscaler that wants fewer by now.
TEST(UpdateStep, NewOnesThatAreTooManyGo) {
  const UpdateLimits limits{.replicas = 2, .surge = 1, .unavailable = 0};
  EXPECT_EQ(update_step(limits, {.old_ready = 1, .new_ready = 2, .new_unready = 1}),
            (UpdateStep{.retire_new = 1}));
  EXPECT_EQ(update_step(limits, {.old_ready = 1, .new_ready = 2}), (UpdateStep{.retire_ready = 1}));
}

}  // namespace
}  // namespace ridgeline::scaling

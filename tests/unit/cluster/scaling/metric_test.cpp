#include "cluster/scaling/metric.hpp"

#include <gtest/gtest.h>

#include "cluster/scaling/scaler.hpp"
#include "core/units.hpp"

namespace ridgeline::scaling {
namespace {

TEST(Metric, TokensInFlightAreThoseHeldAndThoseThatWait) {
  const ReplicaReading reading{
      .kv_usage = 0.25, .queued_tokens = core::Tokens(100), .kv_capacity = core::Tokens(1000)};
  EXPECT_EQ(value_of(Metric::kInFlightTokens, reading), 350.0);
}

TEST(Metric, AQuantileIsOneOfTheValues) {
  EXPECT_EQ(nearest_rank({4.0, 1.0, 3.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(nearest_rank({4.0, 1.0, 3.0, 2.0}, 0.51), 3.0);
  EXPECT_EQ(nearest_rank({4.0, 1.0, 3.0, 2.0}, 1.0), 4.0);
  EXPECT_EQ(nearest_rank({7.0}, 0.01), 7.0);
}

}  // namespace
}  // namespace ridgeline::scaling

#include "metrics/gateway_waits.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {
namespace {

TEST(GatewayWaits, AreDescribedEitherWay) {
  for (const Percentiles percentiles : {Percentiles::kExact, Percentiles::kSketch}) {
    GatewayWaits waits(percentiles);
    EXPECT_FALSE(waits.distribution().has_value());
    for (std::int64_t ms = 1; ms <= 101; ++ms) {
      waits.add(core::Duration::milliseconds(ms));
    }
    EXPECT_DOUBLE_EQ(waits.distribution()->of(Statistic::kMean), 51.0);
    EXPECT_NEAR(waits.distribution()->of(Statistic::kP90), 91.0, 0.1);
  }
}

}  // namespace
}  // namespace ridgeline::metrics

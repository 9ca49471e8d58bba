#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/saturation/detectors.hpp"
#include "core/time.hpp"
#include "routing/router.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

TEST(UtilizationDetector, TakesTheMeanOfTheFullerGauge) {
  const auto detector = make_utilization_detector({});
  EXPECT_TRUE(detector->needs().gauges);
  EXPECT_EQ(detector->saturation({}, {}), 1.0);
  std::vector<routing::InstanceView> views(2);
  views[0].gauges = {.waiting = 2, .running = 9, .kv_usage = 0.2};
  views[1].gauges = {.waiting = 0, .running = 9, .kv_usage = 0.6};
  EXPECT_DOUBLE_EQ(detector->saturation(views, test::ms(200)), (0.4 + 0.75) / 2.0);
}

TEST(UtilizationDetector, CountsStaleGaugesAsFull) {
  const auto detector = make_utilization_detector({});
  std::vector<routing::InstanceView> views(2);
  views[0].gauges_as_of = test::ms(100);
  EXPECT_DOUBLE_EQ(detector->saturation(views, test::ms(200)), 0.0);
  const core::SimTime stale = detector->next_change(views, test::ms(200));
  EXPECT_EQ(stale, test::ms(200) + core::Duration::ticks(1));
  EXPECT_DOUBLE_EQ(detector->saturation(views, stale), 0.5);
  EXPECT_EQ(detector->next_change(views, stale), test::ms(300) + core::Duration::ticks(1));
  EXPECT_EQ(detector->next_change(views, test::ms(301)), core::SimTime::never());
}

}  // namespace
}  // namespace ridgeline::admission

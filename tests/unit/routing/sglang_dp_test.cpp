#include <gtest/gtest.h>

#include "core/time.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(SglangDp, AReportReplacesItsOwnPicks) {
  const auto router = maker_of("sglang-dp")({});
  auto views = test::views_with({0, 0});
  for (InstanceView& view : views) {
    view.gauges_as_of = core::SimTime::at(core::Duration::seconds(1));
  }
  views[0].gauges.running = 2;
  EXPECT_EQ(test::route(*router, views), 1U);
  EXPECT_EQ(test::route(*router, views), 1U);
  EXPECT_EQ(test::route(*router, views), 0U);  // Two against two: the lower rank.
  views[1].gauges_as_of = core::SimTime::at(core::Duration::seconds(2));
  EXPECT_EQ(test::route(*router, views), 1U);  // It reports none.
}

TEST(SglangDp, LeavesOutWhatCannotBeChosen) {
  const auto router = maker_of("sglang-dp")({});
  const auto views = test::views_with({0, 0, 0});
  EXPECT_EQ(test::route(*router, {views[1], views[2]}), 1U);
}

}  // namespace
}  // namespace ridgeline::routing

#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/saturation/detectors.hpp"
#include "core/time.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission {
namespace {

TEST(ConcurrencyDetector, CountsWhatIsInFlight) {
  std::vector<routing::InstanceView> views(2);
  views[0].own = {.requests = 30, .tokens = 600'000};
  views[1].own = {.requests = 90, .tokens = 200'000};
  const auto of = [&](const char* mode) {
    return make_concurrency_detector({.concurrency_mode = mode})->saturation(views, {});
  };
  EXPECT_DOUBLE_EQ(of("requests"), 0.6);
  EXPECT_DOUBLE_EQ(of("tokens"), 0.4);
  EXPECT_DOUBLE_EQ(of("hybrid"), (0.6 + 0.9) / 2.0);
  const auto detector = make_concurrency_detector({});
  EXPECT_TRUE(detector->needs().own);
  EXPECT_EQ(detector->next_change(views, {}), core::SimTime::never());
}

}  // namespace
}  // namespace ridgeline::admission

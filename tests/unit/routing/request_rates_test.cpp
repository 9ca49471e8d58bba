#include "routing/request_rates.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::routing {
namespace {

TEST(RequestRates, SlideWithTheWindow) {
  RequestRates rates(core::Duration::seconds(10));
  const auto at = [](std::int64_t second) {
    return core::SimTime::at(core::Duration::seconds(second));
  };
  EXPECT_EQ(rates.rate(core::InstanceId(1), at(0)), std::nullopt);
  rates.add(core::InstanceId(1), at(1));
  rates.add(core::InstanceId(1), at(5));
  EXPECT_EQ(rates.rate(core::InstanceId(1), at(11)), 0.2);
  EXPECT_EQ(rates.rate(core::InstanceId(1), at(12)), 0.1);
  EXPECT_EQ(rates.rate(core::InstanceId(1), at(16)), 0.0);
  EXPECT_EQ(rates.rate(core::InstanceId(0), at(16)), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::routing

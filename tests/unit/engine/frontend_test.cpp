#include "engine/frontend.hpp"

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"
#include "engine/serving.hpp"

namespace ridgeline::engine {
namespace {

using core::Duration;
using core::SimTime;

SimTime at_us(std::int64_t us) {
  return SimTime::at(Duration::microseconds(us));
}

TEST(Frontend, AloneARequestPassesInItsOwnTime) {
  Frontend frontend{serving_constants().path};
  // 1950 us network and parsing + 750 us frontend + 500 tokens of 1.5 us.
  EXPECT_EQ(frontend.admit(at_us(0), core::Tokens(500)), at_us(3450));
}

TEST(Frontend, ABurstIsSerialised) {
  Frontend frontend{serving_constants().path};
  EXPECT_EQ(frontend.admit(at_us(0), core::Tokens(500)), at_us(3450));
  // Ready at 1950 us, but the first one holds the frontend until 3450 us.
  EXPECT_EQ(frontend.admit(at_us(0), core::Tokens(500)), at_us(4950));
  EXPECT_EQ(frontend.admit(at_us(100'000), core::Tokens(0)), at_us(102'700));
}

TEST(Frontend, OffTakesNoTime) {
  Frontend frontend(RequestPath::off());
  EXPECT_EQ(frontend.admit(at_us(7), core::Tokens(100'000)), at_us(7));
}

TEST(PathTimes, ClientAndServerClocks) {
  domain::RequestRecord record;
  record.arrival = at_us(1000);
  record.queued = at_us(5000);
  record.first_token = at_us(20'000);
  record.last_token = at_us(50'000);
  const auto times = path_times(serving_constants().path, record);
  // The client sees a token 875 + 1950 us after the step's end, and the end 1500 us after the last
  // token.
  EXPECT_EQ(times.client_ttft, Duration::microseconds(19'000 + 2825));
  EXPECT_EQ(times.client_e2e, Duration::microseconds(49'000 + 2825 + 1500));
  EXPECT_EQ(times.client_end, at_us(54'325));
  // The server counts from 875 us before the queue, to 875 us after the step's end.
  EXPECT_EQ(times.server_ttft, Duration::microseconds(20'000 - 4125 + 875));
  EXPECT_EQ(times.server_e2e, Duration::microseconds(50'000 - 4125 + 875));
}

}  // namespace
}  // namespace ridgeline::engine

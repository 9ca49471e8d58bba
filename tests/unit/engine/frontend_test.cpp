#include "engine/frontend.hpp"

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {
namespace {

using core::Duration;
using core::SimTime;

SimTime at_us(std::int64_t us) {
  return SimTime::at(Duration::microseconds(us));
}

TEST(Frontend, AloneARequestPassesInItsOwnTime) {
  Frontend frontend{RequestPath{}};
  // 1500 us network + 1000 us parsing + 1000 us frontend + 500 tokens of 1 us.
  EXPECT_EQ(frontend.admit(at_us(0), core::Tokens(500)), at_us(4000));
}

TEST(Frontend, ABurstIsSerialised) {
  Frontend frontend{RequestPath{}};
  EXPECT_EQ(frontend.admit(at_us(0), core::Tokens(500)), at_us(4000));
  // Ready at 2500 us, but the first one holds the frontend until 4000 us.
  EXPECT_EQ(frontend.admit(at_us(0), core::Tokens(500)), at_us(5500));
  EXPECT_EQ(frontend.admit(at_us(100'000), core::Tokens(0)), at_us(103'500));
}

TEST(Frontend, OffTakesNoTime) {
  Frontend frontend(RequestPath::off());
  EXPECT_EQ(frontend.admit(at_us(7), core::Tokens(100'000)), at_us(7));
}

TEST(PathTimes, ClientAndServerClocks) {
  domain::RequestRecord record;
  record.arrival = at_us(1000);
  record.first_token = at_us(20'000);
  record.last_token = at_us(50'000);
  const auto times = path_times(RequestPath{}, record);
  // The client sees a token 1000 + 2500 us after the step's end, and the end 1500 us after the last
  // token.
  EXPECT_EQ(times.client_ttft, Duration::microseconds(19'000 + 3500));
  EXPECT_EQ(times.client_e2e, Duration::microseconds(49'000 + 3500 + 1500));
  EXPECT_EQ(times.client_end, at_us(55'000));
  // The server counts from 1500 us after the client, to 1000 us after the step's end.
  EXPECT_EQ(times.server_ttft, Duration::microseconds(19'000 - 1500 + 1000));
  EXPECT_EQ(times.server_e2e, Duration::microseconds(49'000 - 1500 + 1000));
}

}  // namespace
}  // namespace ridgeline::engine

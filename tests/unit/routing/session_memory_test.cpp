#include "routing/session_memory.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

using core::InstanceId;
using core::SessionId;

TEST(SessionMemory, HoldsTheLastInstanceOfEachSession) {
  SessionMemory memory;
  EXPECT_FALSE(memory.served(SessionId(7)).valid());
  memory.on_dispatch(SessionId(7), InstanceId(2));
  memory.on_dispatch(SessionId(3), InstanceId(1));
  EXPECT_EQ(memory.served(SessionId(7)), InstanceId(2));
  memory.on_dispatch(SessionId(7), InstanceId(0));
  EXPECT_EQ(memory.served(SessionId(7)), InstanceId(0));
  memory.on_gone(InstanceId(0));
  EXPECT_FALSE(memory.served(SessionId(7)).valid());
  EXPECT_EQ(memory.served(SessionId(3)), InstanceId(1));
}

TEST(SessionMemory, ARequestWithoutASessionIsNotRemembered) {
  SessionMemory memory;
  memory.on_dispatch({}, InstanceId(2));
  EXPECT_FALSE(memory.served({}).valid());
}

/// By free seats, and twice as much by session.
RouterSetup short_queue_and_session() {
  return {.scorers = {{.name = "active-request-scorer", .weight = 1.0},
                      {.name = "session-affinity-scorer", .weight = 2.0}}};
}

TEST(SessionAffinity, OutweighsLoadFromTheSecondRequestOn) {
  const auto router = maker_of("llm-d")(short_queue_and_session());
  const SessionId session(4);
  EXPECT_EQ(test::route(*router, test::views_with({3, 0, 3}), 0, 0, session), 1U);
  const auto busy_there = test::views_with({0, 9, 0});
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(test::route(*router, busy_there, 1, seed, session), 1U);
    EXPECT_NE(test::route(*router, busy_there, 2, seed, SessionId(5)), 1U);
    EXPECT_NE(test::route(*router, busy_there, 3, seed), 1U);  // Without a session.
  }
}

TEST(SessionAffinity, EndsWithItsInstance) {
  const auto router = maker_of("llm-d")(short_queue_and_session());
  const SessionId session(4);
  EXPECT_EQ(test::route(*router, test::views_with({3, 0, 3}), 0, 0, session), 1U);
  router->on_gone(InstanceId(1));
  EXPECT_NE(test::route(*router, test::views_with({0, 9, 0}), 1, 0, session), 1U);
}

}  // namespace
}  // namespace ridgeline::routing

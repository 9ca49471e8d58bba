#include "routing/registry.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::routing {
namespace {

TEST(Routers, EachNameStandsOnceAndMakesARouter) {
  std::set<std::string_view> names;
  for (const RouterEntry& entry : routers()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_NE(entry.make({}), nullptr) << entry.name;
    EXPECT_FALSE(entry.summary.empty() || entry.source.empty()) << entry.name;
  }
  EXPECT_EQ(routers().front().name, "round-robin");
}

TEST(Routers, AnUnknownNameGetsTheNearest) {
  ASSERT_TRUE(find_router("least-request").has_value());
  const auto unknown = find_router("least-requests");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().front().message, "no routing policy 'least-requests'");
  EXPECT_EQ(unknown.error().front().hint, "did you mean 'least-request'?");
}

TEST(Routers, OneThatIsNotSimulatedSaysSo) {
  const auto found = find_router("aibrix-vtc-basic");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().front().message, "'aibrix-vtc-basic' is not simulated");
}

}  // namespace
}  // namespace ridgeline::routing

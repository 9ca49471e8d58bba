#include "deploy/placement.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "deploy/layout.hpp"

namespace ridgeline::deploy {
namespace {

Layout layout_with(std::int64_t replicas, std::int64_t gpus, std::int64_t nodes = 1) {
  Layout layout;
  layout.roles.push_back({.name = "serve",
                          .replicas = replicas,
                          .gpus = gpus,
                          .nodes = nodes,
                          .flags = {},
                          .variables = {}});
  return layout;
}

TEST(Placement, FillsNodesWithReplicasThatFit) {
  const Placement placed = placement_of(layout_with(4, 3));
  EXPECT_EQ(placed.nodes, 2);
  ASSERT_EQ(placed.parts.size(), 4U);
  EXPECT_EQ(placed.parts[1].first_gpu, 3);
  EXPECT_EQ(placed.parts[1].port, 8002);
  EXPECT_EQ(placed.parts[2].node, 1);
  EXPECT_EQ(placed.parts[2].first_gpu, 0);
  EXPECT_EQ(placed.parts[2].port, 8001);
}

TEST(Placement, GivesLargeReplicasNodesOfTheirOwn) {
  const Layout layout = layout_with(2, 16, 2);
  const Placement placed = placement_of(layout);
  EXPECT_EQ(placed.nodes, 4);
  ASSERT_EQ(placed.parts.size(), 4U);
  EXPECT_EQ(placed.parts[3].head, 2);
  EXPECT_EQ(placed.parts[3].gpus, 8);
  EXPECT_EQ(place_words(layout, placed.parts[3]),
            (std::vector<std::string>{
                "--nnodes 2", "--node-rank 1", "--master-addr node-2", "--headless"}));
  EXPECT_EQ(place_words(layout, placed.parts[2]).back(), "--port 8001");
}

TEST(Placement, OneReplicaListensOnTheUsualPort) {
  const Layout layout = layout_with(1, 2);
  EXPECT_EQ(place_words(layout, placement_of(layout).parts.front()),
            (std::vector<std::string>{"--port 8000"}));
}

}  // namespace
}  // namespace ridgeline::deploy

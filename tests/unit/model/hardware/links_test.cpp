#include <gtest/gtest.h>

#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

TEST(Links, AGroupTakesTheSlowestLinkItNeeds) {
  GpuSpec pair;
  pair.has_nvlink = true;
  pair.link_domain = 2;
  pair.gpus_per_node = 8;
  pair.link_bandwidth = core::BytesPerSecond(300e9);
  pair.pcie_bandwidth = core::BytesPerSecond(64e9);
  pair.network_bandwidth = core::BytesPerSecond(50e9);
  EXPECT_EQ(over_link(pair, 2).link, Link::kNvlink);
  EXPECT_EQ(over_link(pair, 2).gpu.link_bandwidth.value(), 300e9);
  EXPECT_EQ(over_link(pair, 4).link, Link::kPcie);
  EXPECT_EQ(over_link(pair, 4).gpu.link_bandwidth.value(), 64e9);
  EXPECT_FALSE(over_link(pair, 4).gpu.has_nvlink);
  EXPECT_EQ(over_link(pair, 16).link, Link::kNetwork);
  EXPECT_EQ(over_link(pair, 16).gpu.link_bandwidth.value(), 50e9);
  EXPECT_STREQ(name(Link::kNetwork), "network");
}

TEST(Links, ARackIsOneDomain) {
  const auto rack = find_gpu("gb200");
  ASSERT_TRUE(rack.has_value());
  EXPECT_EQ(rack->gpus_per_node, 4);
  EXPECT_EQ(over_link(*rack, 72).link, Link::kNvlink);
  EXPECT_EQ(over_link(*rack, 144).link, Link::kNetwork);
}

}  // namespace
}  // namespace ridgeline::hardware

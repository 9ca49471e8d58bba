#include "cluster/link/topology.hpp"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/link/kv_link.hpp"
#include "core/ids.hpp"

namespace ridgeline::link {
namespace {

using testing::ElementsAre;

core::InstanceId id(std::uint32_t number) {
  return core::InstanceId(number);
}

TEST(Topology, HostsHaveACardBothWaysAndAFabric) {
  const Topology hosts{.network_card = 10, .fabric = 30, .instances_per_host = 2};
  EXPECT_THAT(hosts.capacities(4), ElementsAre(30, 10, 10, 10, 10));
  EXPECT_THAT(hosts.route(id(0), id(3)), ElementsAre(WireId(1), WireId(4), WireId(0)));
  EXPECT_THAT(hosts.route(id(0), id(1)), ElementsAre(WireId(1), WireId(2), WireId(0)));
  EXPECT_THAT(hosts.wires_of(1), ElementsAre(WireId(3), WireId(4)));
}

TEST(Topology, InsideAHostIsAWireOfItsOwn) {
  const Topology hosts{
      .network_card = 10, .fabric = 30, .instances_per_host = 2, .inside_host = 90};
  EXPECT_THAT(hosts.capacities(4), ElementsAre(30, 10, 10, 90, 10, 10, 90));
  EXPECT_THAT(hosts.route(id(2), id(3)), ElementsAre(WireId(6)));
  EXPECT_THAT(hosts.route(id(0), id(3)), ElementsAre(WireId(1), WireId(5), WireId(0)));
  EXPECT_THAT(hosts.wires_of(1), ElementsAre(WireId(4), WireId(5)));
}

TEST(Topology, InsideAHostOfOwnCardsAllShareOneWire) {
  const Topology cards{
      .network_card = 10, .instances_per_host = 2, .inside_host = 90, .own_cards = {1, 2, 1, 1}};
  EXPECT_THAT(cards.capacities(4), ElementsAre(10, 10, 90, 20, 20, 90, 10, 10, 90, 10, 10, 90));
  EXPECT_THAT(cards.route(id(0), id(1)), ElementsAre(WireId(2)));
  EXPECT_THAT(cards.route(id(1), id(0)), ElementsAre(WireId(2)));
  EXPECT_THAT(cards.route(id(3), id(2)), ElementsAre(WireId(8)));
  EXPECT_THAT(cards.route(id(1), id(2)), ElementsAre(WireId(3), WireId(7)));
  EXPECT_THAT(cards.wires_of(1), ElementsAre(WireId(6), WireId(7), WireId(9), WireId(10)));
}

}  // namespace
}  // namespace ridgeline::link

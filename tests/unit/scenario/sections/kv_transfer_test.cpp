#include "scenario/sections/kv_transfer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/disaggregation/registry.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "scenario/sections/disaggregation.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

TEST(KvTransferSettings, BandwidthsAreWholeBytesPerSecond) {
  EXPECT_EQ(kv_wires({})->network_card, 50'000'000'000);
  EXPECT_EQ(kv_wires({})->fabric, 0);
  KvTransferSection section;
  section.transfer_bandwidth = "12.5GB/s";
  section.fabric_bandwidth = "1GiB/s";
  EXPECT_EQ(kv_wires(section)->network_card, 12'500'000'000);
  EXPECT_EQ(kv_wires(section)->fabric, 1 << 30);
}

TEST(KvTransferSettings, ABandwidthHasAUnitAndASize) {
  KvTransferSection section;
  section.transfer_bandwidth = "50";
  const auto bare = kv_wires(section);
  ASSERT_FALSE(bare.has_value());
  EXPECT_EQ(bare.error().front().field, "cluster.kv_transfer.transfer_bandwidth");
  EXPECT_THAT(bare.error().front().message, HasSubstr("with its unit"));
  section.transfer_bandwidth = "50GB/s";
  section.fabric_bandwidth = "1B/s";
  const auto slow = kv_wires(section);
  ASSERT_FALSE(slow.has_value());
  EXPECT_EQ(slow.error().front().field, "cluster.kv_transfer.fabric_bandwidth");
}

TEST(KvTransferSettings, ALinkFillsWhatIsNotStated) {
  EXPECT_EQ(kv_wires({})->setup, kDefaultTransferSetup);
  EXPECT_FALSE(kv_wires({})->own_cards);
  KvTransferSection section;
  section.transfer_link = "rdma";
  EXPECT_EQ(kv_wires(section)->network_card, 18'000'000'000);
  EXPECT_EQ(kv_wires(section)->setup, core::Duration::microseconds(400));
  EXPECT_TRUE(kv_wires(section)->own_cards);
  section.transfer_bandwidth = "25GB/s";
  section.transfer_setup = core::Duration::milliseconds(1);
  section.network_cards = "host";
  EXPECT_EQ(kv_wires(section)->network_card, 25'000'000'000);
  EXPECT_EQ(kv_wires(section)->setup, core::Duration::milliseconds(1));
  EXPECT_FALSE(kv_wires(section)->own_cards);
  KvTransferSection pulls;
  pulls.transfer_link = "rdma-pull";
  EXPECT_EQ(kv_wires(pulls, core::Tokens(16))->per_block, core::Duration::microseconds(56));
  // A card for each GPU is RDMA unless another link is named.
  KvTransferSection cards;
  cards.network_cards = "gpu";
  EXPECT_EQ(kv_wires(cards)->setup, core::Duration::microseconds(400));
}

TEST(DisaggregationSettings, ASystemFillsWhatIsNotStated) {
  DisaggregationSection section;
  EXPECT_EQ(disaggregation_rules(section)->order, disaggregation::LegOrder::kDecodeFirst);
  section.name = "production-stack";
  EXPECT_EQ(disaggregation_rules(section)->order, disaggregation::LegOrder::kPrefillFirst);
  section.stage_order = "decode-first";
  section.first_token = "prefill";
  EXPECT_EQ(disaggregation_rules(section)->order, disaggregation::LegOrder::kDecodeFirst);
  EXPECT_EQ(disaggregation_rules(section)->first_token, disaggregation::FirstToken::kPrefill);
  section.decider = "sometimes";
  EXPECT_EQ(disaggregation_rules(section).error().front().field, "cluster.disaggregation.decider");
}

}  // namespace
}  // namespace ridgeline::scenario

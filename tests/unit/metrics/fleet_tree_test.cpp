#include "metrics/fleet_tree.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/summary.hpp"
#include "support/fleet_summaries.hpp"

namespace ridgeline::metrics {
namespace {

using test::busy_day;
using test::fleet_of;
using test::kTwoOfTwo;
using test::some_tiers;
using test::some_transfers;
using test::summary_of_two_tenants;
using test::with_pools;

/// The tree of a fleet in which `set` was set.
template <class Set>
document::Node tree_of(const Set& set) {
  FleetSummary fleet;
  set(fleet);
  return fleet_tree(fleet);
}

TEST(FleetTree, NamesEveryInstance) {
  const document::Node tree = fleet_tree(*fleet_of(3).fleet);
  EXPECT_EQ(tree.find("routing")->find("router")->as_string(), "least-request");
  EXPECT_EQ(tree.find("routing")->find("age_ms"), nullptr);
  ASSERT_EQ(tree.find("per_instance")->items().size(), 3);
  EXPECT_EQ(tree.find("per_instance")->items()[2].find("id")->as_integer(), 2);
}

TEST(PoolsTree, HasACostWhereThereIsAPrice) {
  const document::Node tree = *fleet_tree(*with_pools().fleet).find("per_pool");
  ASSERT_EQ(tree.items().size(), 2);
  EXPECT_EQ(tree.items()[0].find("gpus_per_instance")->as_integer(), 4);
  EXPECT_EQ(tree.items()[0].find("cost")->as_real(), 20.0);
  EXPECT_EQ(tree.items()[1].find("cost"), nullptr);
  EXPECT_TRUE(tree.items()[1].find("busy")->is_null());
}

TEST(AdmissionTree, HasEveryReasonAndEveryTenant) {
  const auto tree = fleet_tree(*summary_of_two_tenants().fleet);
  const document::Node& rejected = *tree.find("admission")->find("rejected");
  EXPECT_EQ(rejected.find("saturated")->as_integer(), 90);
  EXPECT_EQ(rejected.find("queue_full")->as_integer(), 0);
  EXPECT_EQ(tree.find("per_tenant")->items().size(), 2);
  EXPECT_EQ(tree.find("per_tenant")->items()[1].find("expired")->as_integer(), 10);
  EXPECT_EQ(tree.find("fairness")->as_real(), 0.8);
}

TEST(LockStepTree, NamesEveryRank) {
  const document::Node tree =
      *tree_of([](auto& fleet) { fleet.lock_step = kTwoOfTwo; }).find("lock_step");
  EXPECT_EQ(tree.find("ranks")->as_integer(), 2);
  const auto& ranks = tree.find("per_rank")->items();
  ASSERT_EQ(ranks.size(), 4U);
  EXPECT_EQ(ranks[1].find("dummy_steps")->as_integer(), 30);
  EXPECT_TRUE(ranks[2].find("waited")->is_null());
}

TEST(OffloadTree, HasEveryNumber) {
  const document::Node tree =
      *tree_of([](auto& fleet) { fleet.offload = some_tiers(); }).find("kv_offload");
  EXPECT_EQ(tree.find("hit_rate")->as_real(), 0.25);
  EXPECT_EQ(tree.find("recomputed")->as_integer(), 2);
  const document::Node& host = tree.find("tiers")->items().front();
  EXPECT_EQ(host.find("tier")->as_string(), "host");
  EXPECT_EQ(host.find("blocks_refused")->as_integer(), 3);
  EXPECT_EQ(host.find("write_utilisation")->as_real(), 0.25);
  EXPECT_TRUE(at_path(tree_of([](auto& fleet) { fleet.offload.emplace(); }), "kv_offload.load_ms")
                  ->is_null());
}

TEST(TransfersTree, HasEveryNumber) {
  const document::Node tree =
      *tree_of([](auto& fleet) { fleet.transfers = some_transfers(); }).find("transfers");
  EXPECT_EQ(tree.find("count")->as_integer(), 1400);
  EXPECT_EQ(tree.find("wait_ms")->as_real(), 1.25);
  EXPECT_EQ(tree.find("ttft_parts_ms")->find("hand_over")->as_real(), 0.5);
  EXPECT_TRUE(
      at_path(tree_of([](auto& fleet) { fleet.transfers.emplace(); }), "transfers.ms")->is_null());
}

TEST(OperationsTree, HasEveryEventAndFault) {
  const auto tree = tree_of([](auto& fleet) { fleet.operations = busy_day(); });
  EXPECT_EQ(tree.find("scaling")->find("events")->items().size(), 2);
  EXPECT_EQ(tree.find("faults")->items().size(), 6);
  EXPECT_EQ(tree.find("retries")->find("wasted_tokens")->as_integer(), 1234);
  const auto fixed = tree_of([](auto& fleet) {
    fleet.operations = OperationsSummary{.scaling = ScalingSummary{.gpu_hours = 2.0}};
  });
  EXPECT_EQ(fixed.find("scaling")->find("events"), nullptr);
  EXPECT_EQ(fixed.find("faults"), nullptr);
}

TEST(OperationsTree, HasEveryUpdate) {
  OperationsSummary all;
  all.updates = test::two_updates();
  all.retries.emplace();
  const auto tree = tree_of([&](auto& fleet) { fleet.operations = all; });
  const auto& updates = tree.find("updates")->items();
  ASSERT_EQ(updates.size(), 2);
  EXPECT_EQ(updates[0].find("rerouted_requests")->as_integer(), 2);
  EXPECT_TRUE(updates[1].find("over_s")->is_null());
  EXPECT_EQ(updates[0].find("starting")->as_integer(), 0);
  EXPECT_EQ(updates[1].find("starting")->as_integer(), 1);
}

}  // namespace
}  // namespace ridgeline::metrics

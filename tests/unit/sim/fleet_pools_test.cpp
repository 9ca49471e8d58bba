#include "sim/fleet_pools.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/pools.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "domain/label_set.hpp"
#include "domain/request.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "workload/item.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {
namespace {

scenario::Resolved resolved_from(const std::string& cluster) {
  auto loaded = scenario::read_scenario(
      *document::parse_yaml("model: llama-3.1-8b\ngpu: h100\ncluster: " + cluster, "s.yaml"),
      {},
      scenario::Purpose::kLook);
  EXPECT_TRUE(loaded.has_value());
  auto resolved = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(resolved.has_value());
  return std::move(*resolved);
}

/// A workload of which only the labels matter.
class Labelled final : public workload::Source {
 public:
  [[nodiscard]] std::optional<core::SimTime> next_arrival() override { return std::nullopt; }
  domain::Request pop() override { return {}; }
  [[nodiscard]] const domain::LabelSets* label_sets() const override { return &sets_; }
  [[nodiscard]] const workload::Labels& labels() const override { return labels_; }

  /// A request for a model and an adapter; empty: it names none.
  domain::Request asking(const std::string& model, const std::string& adapter = "") {
    domain::LabelSet set;
    set.of(domain::Label::kModel) = labels_.intern(model);
    set.of(domain::Label::kAdapter) = labels_.intern(adapter);
    domain::Request request;
    request.label_set = sets_.number_of(set);
    return request;
  }

 private:
  domain::LabelSets sets_;
  workload::Labels labels_;
};

TEST(PoolGroupsOfAWorkload, AreThePoolsThatListModelAndAdapter) {
  const scenario::Resolved resolved = resolved_from(
      "{pools: [{name: a, instances: 1, models: [chat]}, {name: b, instances: 1, "
      "models: [chat, code], adapters: [x]}]}");
  Labelled source;
  const cluster::PoolGroups groups = pool_groups(resolved, source);
  const auto members = [&](const domain::Request& request) {
    const auto group = groups.of(request);
    return group ? groups.members[*group] : std::vector<bool>();
  };
  const std::vector<bool> both = {true, true};
  const std::vector<bool> first = {true, false};
  const std::vector<bool> second = {false, true};
  EXPECT_EQ(members(source.asking("chat")), both);
  EXPECT_EQ(members(source.asking("chat", "x")), both);
  EXPECT_EQ(members(source.asking("chat", "y")), first);
  EXPECT_EQ(members(source.asking("code")), second);
  EXPECT_EQ(members(source.asking("code", "y")), std::vector<bool>());
  EXPECT_EQ(members(source.asking("other")), std::vector<bool>());
  EXPECT_EQ(members(source.asking("")), both);  // The first pool's first model.
  EXPECT_EQ(members(domain::Request()), both);
  EXPECT_EQ(groups.members.size(), 3);
}

TEST(PoolGroupsOfAWorkload, AreNoneWithoutPools) {
  const scenario::Resolved resolved = resolved_from("{instances: 2}");
  const Labelled source;
  EXPECT_FALSE(pool_groups(resolved, source).of);
  EXPECT_TRUE(pools_of_instances(resolved).empty());
}

TEST(PoolEngines, TakeThePoolsSpreadOrTheClusters) {
  const scenario::Resolved resolved = resolved_from(
      "{spread: 0.1, pools: [{name: a, instances: 2, weight: 2}, {name: b, instances: 1, spread: "
      "0, max_num_seqs: 5}]}");
  const PoolEngines engines(
      resolved, [](const scenario::Deployment& deployment) { return deployment.engine; });
  const auto pools = engines.pools();
  ASSERT_EQ(pools.size(), 2);
  EXPECT_EQ(pools[0].instances, 2);
  EXPECT_EQ(pools[0].weight, 2.0);
  EXPECT_EQ(pools[0].spread, 0.1);
  EXPECT_EQ(pools[1].spread, 0.0);
  EXPECT_EQ(pools[1].options->max_num_seqs, 5);
  EXPECT_EQ(pools[1].model, resolved.pools[1].deployment->latency.get());
  EXPECT_EQ(pools_of_instances(resolved), (std::vector<std::size_t>{0, 0, 1}));
}

}  // namespace
}  // namespace ridgeline::sim

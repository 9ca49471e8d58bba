#include "cluster/link/kv_link.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/link/topology.hpp"
#include "core/ids.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::link {
namespace {

using core::Duration;
using core::SimTime;
using testing::ElementsAre;

constexpr std::int64_t kMegabyte = 1'000'000;
constexpr WireId kFirst(0);
constexpr WireId kSecond(1);
constexpr WireId kThird(2);

SimTime at_ms(std::int64_t ms) {
  return SimTime::at(Duration::milliseconds(ms));
}

TEST(KvLink, ATransferAloneHasTheNarrowestWireOfItsRoute) {
  KvLink link(Sharing::kMaxMin, {100 * kMegabyte, 40 * kMegabyte});
  const TransferId id = link.start(4 * kMegabyte, {kFirst, kSecond}, at_ms(5));
  EXPECT_EQ(link.rate(id), 40 * kMegabyte);
  EXPECT_EQ(link.next_end(), at_ms(105));
  EXPECT_EQ(link.alone(4 * kMegabyte, {kFirst, kSecond}), Duration::milliseconds(100));
  EXPECT_THAT(link.end_next(), ElementsAre(id));
  EXPECT_EQ(link.next_end(), SimTime::never());
  EXPECT_EQ(link.totals(kFirst).bytes, 4e6);
}

/// What BLIS does not do (blis.md W30): a transfer that is under way slows down when another starts
/// and is faster again when that has ended.
TEST(KvLink, W30RatesChangeWhenTransfersStartAndEnd) {
  KvLink link(Sharing::kMaxMin, {100 * kMegabyte});
  const TransferId first = link.start(10 * kMegabyte, {kFirst}, at_ms(0));   // Alone: 100 ms.
  const TransferId second = link.start(2 * kMegabyte, {kFirst}, at_ms(50));  // Alone: 20 ms.
  EXPECT_EQ(link.rate(first), 50 * kMegabyte);
  EXPECT_EQ(link.next_end(), at_ms(90));
  EXPECT_THAT(link.end_next(), ElementsAre(second));
  EXPECT_EQ(link.rate(first), 100 * kMegabyte);
  EXPECT_EQ(link.next_end(), at_ms(120));
  link.set_capacity(kFirst, 10 * kMegabyte, at_ms(110));  // A megabyte is left.
  EXPECT_EQ(link.next_end(), at_ms(210));
}

TEST(KvLink, OverAWireThatIsDownTransfersStandStill) {
  for (const Sharing sharing : {Sharing::kMaxMin, Sharing::kFifo}) {
    KvLink link(sharing, {100 * kMegabyte, 40 * kMegabyte});
    const TransferId first = link.start(10 * kMegabyte, {kFirst}, at_ms(0));  // Alone: 100 ms.
    link.set_capacity(kFirst, 0, at_ms(30));
    EXPECT_EQ(link.next_end(), SimTime::never());
    link.start(4 * kMegabyte, {kSecond}, at_ms(40));  // Passes another wire: 100 ms.
    const TransferId third = link.start(kMegabyte, {kFirst}, at_ms(50));
    EXPECT_EQ(link.rate(third), 0);
    EXPECT_EQ(link.next_end(), at_ms(140));
    link.end_next();
    EXPECT_EQ(link.next_end(), SimTime::never());
    link.stop(third, at_ms(150));
    link.set_capacity(kFirst, 100 * kMegabyte, at_ms(200));
    EXPECT_EQ(link.next_end(), at_ms(270));
    link.set_capacity(kFirst, 0, at_ms(270));  // All has moved.
    EXPECT_EQ(link.next_end(), at_ms(270));
    EXPECT_THAT(link.end_next(), ElementsAre(first));
    EXPECT_EQ(link.alone(kMegabyte, {kFirst}), Duration::milliseconds(10));
  }
}

TEST(KvLink, WhatOneTransferCannotUseGoesToOthers) {
  KvLink link(Sharing::kMaxMin, {90 * kMegabyte, 90 * kMegabyte, 10 * kMegabyte});
  const TransferId narrow = link.start(kMegabyte, {kFirst, kThird}, at_ms(0));
  const TransferId wide = link.start(kMegabyte, {kFirst}, at_ms(0));
  const TransferId both = link.start(kMegabyte, {kFirst, kSecond}, at_ms(0));
  EXPECT_EQ(link.rate(narrow), 10 * kMegabyte);
  EXPECT_EQ(link.rate(wide), 40 * kMegabyte);
  EXPECT_EQ(link.rate(both), 40 * kMegabyte);
  link.stop(wide, at_ms(1));
  EXPECT_EQ(link.rate(both), 80 * kMegabyte);
}

TEST(KvLink, InALineEachHasItsWiresForItself) {
  KvLink link(Sharing::kFifo, {100 * kMegabyte, 100 * kMegabyte});
  const TransferId first = link.start(kMegabyte, {kFirst}, at_ms(0));
  const TransferId behind = link.start(kMegabyte, {kFirst, kSecond}, at_ms(0));
  const TransferId last = link.start(kMegabyte, {kSecond}, at_ms(0));
  EXPECT_EQ(link.rate(behind), 0);
  EXPECT_EQ(link.rate(last), 0);
  EXPECT_THAT(link.end_next(), ElementsAre(first));
  EXPECT_EQ(link.next_end(), at_ms(20));
  EXPECT_THAT(link.end_next(), ElementsAre(behind));
  EXPECT_THAT(link.end_next(), ElementsAre(last));
}

TEST(KvLink, AnEndIsTheFirstPicosecondWithNothingLeft) {
  KvLink link(Sharing::kMaxMin, {3 * kMegabyte});
  link.start(1, {kFirst}, SimTime());
  EXPECT_EQ(link.next_end(), SimTime::at(Duration::ticks(333'334)));
}

TEST(Topology, InstancesOfAHostShareItsCard) {
  const Topology topology{.network_card = 50, .fabric = 70, .instances_per_host = 2};
  EXPECT_THAT(topology.capacities(3), ElementsAre(70, 50, 50, 50, 50));
  EXPECT_EQ(topology.route(core::InstanceId(0), core::InstanceId(2)),
            topology.route(core::InstanceId(1), core::InstanceId(3)));
  EXPECT_THAT(topology.route(core::InstanceId(0), core::InstanceId(2)),
              ElementsAre(WireId(1), WireId(4), WireId(0)));
  EXPECT_THAT((Topology{.network_card = 50}).capacities(2), ElementsAre(50, 50, 50, 50));
}

TEST(Topology, AFaultOfAHostIsOneOfItsCards) {
  EXPECT_THAT((Topology{.network_card = 5, .fabric = 9, .instances_per_host = 2}.wires_of(1)),
              ElementsAre(WireId(3), WireId(4)));
  const Topology own{
      .network_card = 5, .fabric = 9, .instances_per_host = 2, .own_cards = {1, 1, 1}};
  EXPECT_THAT(own.wires_of(0), ElementsAre(WireId(1), WireId(2), WireId(3), WireId(4)));
  EXPECT_THAT(own.wires_of(1), ElementsAre(WireId(5), WireId(6)));
  EXPECT_THAT(own.wires_of({}), ElementsAre(WireId(0)));
  EXPECT_THAT(Topology{.network_card = 5}.wires_of({}), testing::IsEmpty());
}

TEST(Topology, InstancesMayHaveACardForEachGpu) {
  const Topology topology{.network_card = 50, .instances_per_host = 2, .own_cards = {4, 2}};
  EXPECT_THAT(topology.capacities(2), ElementsAre(200, 200, 100, 100));
  EXPECT_THAT(topology.route(core::InstanceId(0), core::InstanceId(1)),
              ElementsAre(WireId(0), WireId(3)));
}

/// Random transfers over random routes: no wire above its capacity, no rate that could grow alone,
/// every byte moved once.
TEST(KvLink, RandomTransfersAreMaxMinFairAndMoveEveryByte) {
  core::RngStream draws(7, 0, "link");
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(draws.next_u64() % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> capacities;
    for (int i = 0; i < 4; ++i) {
      capacities.push_back(kMegabyte * (1 + below(100)));
    }
    KvLink link(Sharing::kMaxMin, capacities);
    std::vector<double> moved(4);
    std::map<TransferId, Route> routes;
    SimTime now;
    for (int i = 0; i < 12; ++i) {
      now = std::min(now + Duration::ticks(below(20'000'000'000)), link.next_end());
      if (now == link.next_end()) {
        for (const TransferId id : link.end_next()) {
          routes.erase(id);
        }
      }
      const Route route = below(2) == 0
                              ? Route{WireId(static_cast<WireId::Rep>(below(4)))}
                              : Route{kFirst, WireId(1 + static_cast<WireId::Rep>(below(3)))};
      const std::int64_t bytes = 1 + below(kMegabyte);
      routes.emplace(link.start(bytes, route, now), route);
      for (const WireId wire : route) {
        moved[wire.value()] += static_cast<double>(bytes);
      }
      std::vector<std::int64_t> sums(4);
      std::vector<std::int64_t> highest(4);
      for (const auto& [id, its] : routes) {
        for (const WireId wire : its) {
          sums[wire.value()] += link.rate(id);
          highest[wire.value()] = std::max(highest[wire.value()], link.rate(id));
        }
      }
      for (const auto& [id, its] : routes) {
        const bool has_bottleneck = std::ranges::any_of(its, [&](WireId wire) {
          const auto w = wire.value();
          // Rounding leaves less than a byte per second and transfer.
          return capacities[w] - sums[w] < 12 && link.rate(id) + 12 > highest[w];
        });
        EXPECT_TRUE(has_bottleneck);
      }
      for (std::size_t w = 0; w < 4; ++w) {
        EXPECT_LE(sums[w], capacities[w]);
      }
    }
    while (link.num_active() > 0) {
      link.end_next();
    }
    for (std::size_t w = 0; w < 4; ++w) {
      EXPECT_DOUBLE_EQ(link.totals(WireId(static_cast<WireId::Rep>(w))).bytes, moved[w]);
    }
  }
}

/// Poisson transfers of a megabyte over one wire of a megabyte per second: in a line an M/D/1 queue
/// (Pollaczek-Khinchine: wait load / (2 (1 - load))), fairly shared a processor-sharing queue
/// (response 1 / (1 - load), whatever the sizes: Kleinrock 1976).
struct ClosedForm {
  std::string name;
  Sharing sharing;
  double load;
  double response;
};

class LinkClosedForms : public testing::TestWithParam<ClosedForm> {};

TEST_P(LinkClosedForms, TheMeanIsWhatQueueingTheorySays) {
  const ClosedForm& form = GetParam();
  const char* drawn = std::getenv("RIDGELINE_CLOSED_FORMS_SEED");
  const std::int64_t transfers = drawn == nullptr ? 40'000 : 1'000'000;
  const std::uint64_t seed = drawn == nullptr ? 1 : std::strtoull(drawn, nullptr, 10);
  core::RngStream gaps(seed, 0, "gaps");
  KvLink link(form.sharing, {kMegabyte});
  constexpr std::int64_t kBatches = 50;
  std::vector<double> sums(kBatches);
  std::map<TransferId, SimTime> starts;
  SimTime next_start;
  for (std::int64_t ended = 0; ended < transfers;) {
    if (next_start < link.next_end()) {
      starts.emplace(link.start(kMegabyte, {kFirst}, next_start), next_start);
      next_start += Duration::saturating(core::Seconds(-core::log(gaps.uniform()) / form.load));
      continue;
    }
    const SimTime end = link.next_end();
    for (const TransferId id : link.end_next()) {
      const auto batch = static_cast<std::size_t>(ended++ * kBatches / transfers);
      sums[std::min(batch, sums.size() - 1)] += (end - starts.at(id)).to_seconds();
      starts.erase(id);
    }
  }
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 1; i < sums.size(); ++i) {
    const double mean = sums[i] * kBatches / static_cast<double>(transfers);
    sum += mean;
    squares += mean * mean;
  }
  constexpr double kUsed = kBatches - 1;
  const double mean = sum / kUsed;
  const double deviation = std::sqrt((squares / kUsed - mean * mean) / (kUsed - 1));
  EXPECT_LT(std::abs(mean - form.response), 3.0 * deviation)
      << mean << " +- " << deviation << ", expected " << form.response;
}

INSTANTIATE_TEST_SUITE_P(,
                         LinkClosedForms,
                         testing::Values(ClosedForm{"Line50", Sharing::kFifo, 0.5, 1.5},
                                         ClosedForm{"Line80", Sharing::kFifo, 0.8, 3.0},
                                         ClosedForm{"Line90", Sharing::kFifo, 0.9, 5.5},
                                         ClosedForm{"Fair50", Sharing::kMaxMin, 0.5, 2.0},
                                         ClosedForm{"Fair80", Sharing::kMaxMin, 0.8, 5.0},
                                         ClosedForm{"Fair90", Sharing::kMaxMin, 0.9, 10.0}),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace ridgeline::link

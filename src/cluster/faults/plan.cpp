#include "cluster/faults/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/faults/fault.hpp"
#include "core/distributions.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::faults {
namespace {

/// That share of neighbours, drawn without replacement, in the order of their ids.
std::vector<core::InstanceId> drawn_share(double share,
                                          const Neighbours& among,
                                          core::RngStream draws) {
  const auto wanted =
      std::max<std::int64_t>(1, std::llround(share * static_cast<double>(among.count)));
  std::vector<core::InstanceId::Rep> all(static_cast<std::size_t>(among.count));
  std::iota(all.begin(), all.end(), static_cast<core::InstanceId::Rep>(among.first));
  std::vector<core::InstanceId> chosen;
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::uint64_t place = draws.below(all.size());
    chosen.emplace_back(all[place]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(place));
  }
  std::ranges::sort(chosen);
  return chosen;
}

core::Duration drawn(core::RngStream& draws, core::Duration mean) {
  return core::Duration::saturating(core::Seconds(core::exponential(draws, mean.to_seconds())));
}

Fault drawn_from(const RandomFaults& random, core::SimTime start, core::RngStream& draws) {
  Fault fault{.kind = random.kind, .factor_thousandths = random.factor_thousandths};
  fault.at = core::SimTime::saturating_sum(start, drawn(draws, random.mtbf));
  fault.lasts = drawn(draws, random.mttr);
  return fault;
}

}  // namespace

FaultPlan::FaultPlan(const std::vector<ListedFault>& listed,
                     const std::vector<RandomFaults>& random,
                     std::int64_t num_instances,
                     std::uint64_t seed)
    : seed_(seed) {
  for (const RandomFaults& one : random) {
    (one.of_host() ? of_hosts_ : of_instances_).push_back(one);
  }
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (!listed[i].share && !listed[i].among) {
      listed_.push_back(listed[i].fault);
      continue;
    }
    for (const core::InstanceId instance :
         drawn_share(listed[i].share.value_or(1.0),
                     listed[i].among.value_or(Neighbours{.first = 0, .count = num_instances}),
                     core::RngStream(seed, 0, "fault share", i))) {
      listed_.push_back(listed[i].fault);
      listed_.back().instance = instance;
    }
  }
  std::ranges::stable_sort(listed_, {}, [](const Fault& fault) {
    return std::tuple(fault.at, fault.kind, fault.instance);
  });
}

std::optional<Fault> FaultPlan::of_service(core::InstanceId instance,
                                           std::int64_t nth,
                                           core::SimTime start) const {
  std::optional<Fault> first;
  for (const RandomFaults& random : of_instances_) {
    core::RngStream draws(seed_,
                          static_cast<std::uint64_t>(nth),
                          random.kind == FaultKind::kHang ? "random hangs" : "random faults",
                          instance.value());
    const Fault next = drawn_from(random, start, draws);
    if (!first || next.at < first->at) {
      first = next;
      first->instance = instance;
    }
  }
  return first;
}

Fault FaultPlan::of_host(std::size_t which,
                         std::int64_t host,
                         std::int64_t nth,
                         core::SimTime start) const {
  const RandomFaults& random = of_hosts_[which];
  // One stream for each kind, so that one more kind leaves the others as they were.
  const auto kind = static_cast<std::uint64_t>(
      random.of_node ? kNumFaultKinds : static_cast<std::size_t>(random.kind));
  core::RngStream draws(seed_,
                        static_cast<std::uint64_t>(nth) * (kNumFaultKinds + 1) + kind,
                        "random faults of hosts",
                        static_cast<std::uint64_t>(host));
  Fault fault = drawn_from(random, start, draws);
  fault.host = host;
  return fault;
}

bool FaultPlan::has(FaultKind kind) const {
  const auto is_it = [kind](const RandomFaults& random) { return random.kind == kind; };
  return std::ranges::any_of(of_instances_, is_it) || std::ranges::any_of(of_hosts_, is_it) ||
         std::ranges::find(listed_, kind, &Fault::kind) != listed_.end();
}

}  // namespace ridgeline::faults

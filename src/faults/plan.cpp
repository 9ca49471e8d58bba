#include "faults/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/distributions.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "faults/fault.hpp"

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

}  // namespace

FaultPlan::FaultPlan(const std::vector<ListedFault>& listed,
                     std::optional<RandomFaults> random,
                     std::int64_t num_instances,
                     std::uint64_t seed)
    : random_(random), seed_(seed) {
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
  if (!random_) {
    return std::nullopt;
  }
  core::RngStream draws(seed_, static_cast<std::uint64_t>(nth), "random faults", instance.value());
  const core::Duration in_service = drawn(draws, random_->mtbf);
  return Fault{.kind = random_->kind,
               .at = core::SimTime::saturating_sum(start, in_service),
               .instance = instance,
               .lasts = drawn(draws, random_->mttr)};
}

bool FaultPlan::has(FaultKind kind) const {
  return (random_ && random_->kind == kind) ||
         std::ranges::find(listed_, kind, &Fault::kind) != listed_.end();
}

}  // namespace ridgeline::faults

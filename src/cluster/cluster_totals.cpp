// The sums over the instances of a cluster, and what is said where it makes no progress.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/cluster.hpp"
#include "core/fault.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/engine.hpp"
#include "engine/instance.hpp"
#include "engine/instance_group.hpp"
#include "engine/loop/rank_steps.hpp"

namespace ridgeline::cluster {
namespace {

void add(engine::EngineTotals& all, const engine::EngineTotals& one) {
  all.steps += one.steps;
  all.preemptions += one.preemptions;
  all.step_time.add(one.step_time);
  all.busy += one.busy;
  all.prefix_queries += one.prefix_queries;
  all.prefix_hits += one.prefix_hits;
  all.peak_used_blocks += one.peak_used_blocks;
  all.used_block_seconds += one.used_block_seconds;
  all.jumped_steps += one.jumped_steps;
}

}  // namespace

engine::InstanceState Cluster::state(core::SimTime at) const {
  engine::InstanceState all{.at = at};
  for (const auto& instance : instances_) {
    const engine::InstanceState one = instance->state(at);
    all.running += one.running;
    all.waiting += one.waiting;
    all.queued_prompt_tokens += one.queued_prompt_tokens;
    all.used_blocks += one.used_blocks;
    all.free_blocks += one.free_blocks;
  }
  return all;
}

/// What a run without an end has come to: where its requests are, and what is due.
void Cluster::end_without_progress(core::SimTime instant) const {
  std::vector<int> due;
  for (const OwnPart& own : parts_) {
    if (own.part->next_instant() <= instant) {
      due.push_back(static_cast<int>(own.kind));
    }
  }
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  for (const auto& instance : instances_) {
    const engine::InstanceState one = instance->state(instance->now());
    running += one.running;
    waiting += one.waiting;
  }
  core::raise_fault({.text = fmt::format(
                         "no request moves any more at {} s: {} are in the cluster, {} to arrive, "
                         "{} on their way to instances, where {} run and {} wait; parts that are "
                         "due, by kind: [{}]",
                         instant.to_seconds(),
                         tickets_.size(),
                         arrivals_.size(),
                         deliveries_.size(),
                         running,
                         waiting,
                         fmt::join(due, ", "))});
}

engine::EngineTotals Cluster::totals_of(core::InstanceId id) const {
  engine::EngineTotals all = before_[id.value()];
  const core::Blocks peak = all.peak_used_blocks;
  const engine::EngineTotals now = instances_[id.value()]->totals();
  add(all, now);
  all.peak_used_blocks = std::max(peak, now.peak_used_blocks);
  return all;
}

std::optional<engine::RankSteps> Cluster::rank_steps_of(core::InstanceId id) const {
  const std::size_t unit = unit_of(id);
  const engine::InstanceGroup* const ranks = group(unit);
  return ranks == nullptr ? std::nullopt
                          : std::optional(ranks->steps_of(id.value() - units_[unit].first));
}

engine::EngineTotals Cluster::totals() const {
  engine::EngineTotals all;
  for (const auto& instance : instances_) {
    add(all, totals_of(instance->id()));
  }
  return all;
}

}  // namespace ridgeline::cluster

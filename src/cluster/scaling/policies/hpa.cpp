#include "cluster/scaling/policies/hpa.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

// The default scaleUp policies of autoscaling/v2: the larger of the two.
constexpr std::int64_t kPodsPerPeriod = 4;
constexpr std::int64_t kFactorPerPeriod = 2;  // 100 % more.
constexpr core::Duration kPeriod = core::Duration::seconds(15);

}  // namespace

/// By the newest reading alone. A replica without a reading counts as idle where more are wanted,
/// and as on target where fewer are; a change that this turns round is none.
std::int64_t Hpa::wanted(const PoolHistory& history) const {
  const PoolReading* const newest = history.newest();
  if (newest == nullptr || newest->replicas.empty()) {
    return history.replicas;
  }
  if (is_latency(settings_.metric)) {
    return wanted_for(newest->latency, history);
  }
  double sum = 0.0;
  for (const ReplicaReading& replica : newest->replicas) {
    sum += value_of(settings_.metric, replica);
  }
  const auto seen = static_cast<double>(newest->replicas.size());
  const double missing = std::max(0.0, static_cast<double>(history.replicas) - seen);
  const double ratio = sum / seen / settings_.target;
  if (ratio < 1.0) {
    sum += missing * settings_.target;
  }
  const double all = seen + missing;
  const double with_missing = sum / all / settings_.target;
  const bool turned = (ratio - 1.0) * (with_missing - 1.0) < 0.0;
  if (turned || std::abs(with_missing - 1.0) <= settings_.tolerance) {
    return history.replicas;
  }
  const auto wanted = static_cast<std::int64_t>(
      std::ceil(std::min(with_missing * all, static_cast<double>(history.max_replicas))));
  return with_missing > 1.0 ? std::max(wanted, history.replicas)
                            : std::min(wanted, history.replicas);
}

/// A metric of all replicas together, as one of type Object with a Value.
std::int64_t Hpa::wanted_for(std::optional<double> value, const PoolHistory& history) const {
  if (!value) {
    return history.replicas;
  }
  const double ratio = *value / settings_.target;
  if (std::abs(ratio - 1.0) <= settings_.tolerance) {
    return history.replicas;
  }
  const auto wanted = static_cast<std::int64_t>(std::ceil(std::min(
      ratio * static_cast<double>(history.ready), static_cast<double>(history.max_replicas))));
  return ratio > 1.0 ? std::max(wanted, history.replicas) : std::min(wanted, history.replicas);
}

std::int64_t Hpa::highest_wanted(std::int64_t wanted, core::SimTime now) {
  while (!wanted_.empty() && now - wanted_.front().at >= settings_.stabilization_window) {
    wanted_.pop_front();
  }
  wanted_.push_back({.at = now, .replicas = wanted});
  return std::ranges::max_element(wanted_, {}, &Change::replicas)->replicas;
}

std::int64_t Hpa::most_allowed(std::int64_t replicas, core::SimTime now) {
  while (!added_.empty() && now - added_.front().at >= kPeriod) {
    added_.pop_front();
  }
  std::int64_t before = replicas;
  for (const Change& change : added_) {
    before -= change.replicas;
  }
  return std::max(before + kPodsPerPeriod, before * kFactorPerPeriod);
}

ScalePlan Hpa::evaluate(const PoolHistory& history, core::SimTime now) {
  const std::int64_t current = history.replicas;
  if (wanted_.empty()) {
    wanted_.push_back({.at = now, .replicas = current});  // What it finds is its first wish.
  }
  const std::int64_t wanted =
      std::clamp(this->wanted(history), history.min_replicas, history.max_replicas);
  const std::int64_t highest = highest_wanted(wanted, now);
  if (wanted > current) {
    const std::int64_t most = std::max(current, most_allowed(current, now));
    const std::int64_t replicas = std::min(wanted, most);
    added_.push_back({.at = now, .replicas = replicas - current});
    return {.replicas = replicas, .reason = "above target"};
  }
  if (highest < current) {
    return {.replicas = highest, .reason = "below target"};
  }
  return {.replicas = current};
}

/// Fewer than there are come once the last wish for as many has left the window.
core::SimTime Hpa::same_until(const PoolHistory& history, core::SimTime now) const {
  if (wanted_.back().replicas > history.replicas) {
    return now;  // Held back by what a period may add.
  }
  if (wanted_.back().replicas == history.replicas) {
    return core::SimTime::never();
  }
  const auto last = std::ranges::find_if(wanted_.rbegin(), wanted_.rend(), [&](const Change& one) {
    return one.replicas >= history.replicas;
  });
  return last == wanted_.rend()
             ? core::SimTime::never()
             : core::SimTime::saturating_sum(last->at, settings_.stabilization_window);
}

std::unique_ptr<Scaler> make_hpa(const ScalerSettings& settings) {
  return std::make_unique<Hpa>(settings);
}

}  // namespace ridgeline::scaling

#include "cluster/scaling_part.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"

namespace ridgeline::cluster {

using core::SimTime;

ScalingPart::ScalingPart(Fleet& fleet, Operations& operations, ScalingInputs inputs)
    : fleet_(fleet),
      operations_(operations),
      inputs_(std::move(inputs)),
      next_reading_(scaling::next_multiple(SimTime(), inputs_.metrics_interval)),
      next_decision_(inputs_.scaler->next_decision(SimTime())),
      busy_(fleet.num_instances()),
      known_(fleet.num_instances()) {}

std::vector<std::string_view> ScalingPart::pools() const {
  std::vector<std::string_view> names;
  for (const ScaledPool& pool : inputs_.pools) {
    names.push_back(pool.name);
  }
  return names;
}

SimTime ScalingPart::next_instant() const {
  if (!rests_until_) {
    return std::min(next_reading_, next_decision_);
  }
  if (!is_disturbed()) {
    return *rests_until_;
  }
  const SimTime from = std::max(fleet_.passed(), rests_from_);
  return std::min(first_reading(from), first_decision(from));
}

void ScalingPart::act(SimTime now) {
  if (rests_until_) {
    wake(now);
  }
  if (next_reading_ <= now) {
    read(now);
  }
  if (next_decision_ <= now) {
    decide(now);
  }
  next_decision_ = first_decision(now + kTick);
  next_reading_ = first_reading(now + kTick);
  if (!fleet_.is_eager() && !inputs_.reads_busy) {
    // Before the next decision it sees the last reading only, and counts arrivals from the one
    // before.
    next_reading_ =
        next_decision_ == SimTime::never()
            ? next_decision_
            : std::max(next_reading_,
                       scaling::last_multiple(next_decision_ + kTick, inputs_.metrics_interval) -
                           inputs_.metrics_interval);
  }
}

/// The first ones that are not before `from`.
SimTime ScalingPart::first_reading(SimTime from) const {
  return scaling::next_multiple(from - kTick, inputs_.metrics_interval);
}
SimTime ScalingPart::first_decision(SimTime from) const {
  return inputs_.scaler->next_decision(from - kTick);
}

/// After a decision that changed nothing, where the next readings can only show what the newest one
/// does.
void ScalingPart::rest(const scaling::PoolHistory& history, SimTime now) {
  const scaling::PoolReading* const newest = history.newest();
  is_disturbed_ = false;
  if (fleet_.is_eager() || newest == nullptr || !is_still_ || is_disturbed()) {
    return;
  }
  const SimTime other = inputs_.scaler->same_until(history, now);
  SimTime until = other == SimTime::never() ? other : first_decision(std::max(other, now + kTick));
  for (const auto& [end, value] : latencies_) {
    if (end >= newest->at) {
      return;  // The next reading has it.
    }
    // The first reading after that has it no more.
    const SimTime gone = SimTime::saturating_sum(end, inputs_.latency->lasts);
    until = std::min(until, std::max(gone, now + kTick));
  }
  rests_until_ = until;
  rests_from_ = now + kTick;
}

/// At an instant of this part: those since the last decision would have been alike.
void ScalingPart::wake(SimTime now) {
  const SimTime last = inputs_.scaler->last_decision(now);
  newest_.front().at = scaling::last_multiple(last + kTick, inputs_.metrics_interval);
  inputs_.scaler->rested(newest_.front(), last);
  newest_.front().at = scaling::last_multiple(now, inputs_.metrics_interval);
  next_reading_ = first_reading(now);
  next_decision_ = first_decision(now);
  rests_until_.reset();
}

void ScalingPart::read(SimTime now) {
  scaling::PoolReading reading{.at = now};
  // A request that several of the pools may serve counts once.
  const Places& first = places_of(inputs_.pools.front());
  reading.held = operations_.num_held(first);
  const std::int64_t arrivals = operations_.num_arrivals(first);
  reading.arrivals = arrivals - std::exchange(arrivals_, arrivals);
  is_still_ = reading.arrivals == 0;
  for (std::size_t variant = 0; variant < inputs_.pools.size(); ++variant) {
    read(variant, now, reading);
  }
  reading.latency = latency(now);
  changes_seen_ = fleet_.num_changes();
  newest_.clear();
  newest_.push_back(std::move(reading));
}

/// Latency of the requests that ended before `now`: which of those at this instant are known
/// depends on how far instances were advanced.
std::optional<double> ScalingPart::latency(SimTime now) {
  if (!inputs_.latency) {
    return std::nullopt;
  }
  std::erase_if(latencies_,
                [&](const auto& one) { return now - one.first > inputs_.latency->lasts; });
  std::vector<double> values;
  for (const auto& [end, value] : latencies_) {
    if (end < now) {
      values.push_back(value);
    }
  }
  return values.empty()
             ? std::nullopt
             : std::optional(scaling::nearest_rank(std::move(values), inputs_.latency->quantile));
}

void ScalingPart::on_end(const Ticket&, domain::RequestRecord& record) {
  const bool is_here =
      inputs_.sees_all_requests ||
      (record.instance.valid() && std::ranges::any_of(inputs_.pools, [&](const ScaledPool& pool) {
         return places_of(pool).has(record.instance);
       }));
  if (!inputs_.latency || !is_here || record.first_token == SimTime::never() ||
      record.last_token == SimTime::never()) {
    return;
  }
  is_disturbed_ = true;
  if (inputs_.latency->metric == scaling::Metric::kTtft) {
    latencies_.emplace_back(record.last_token, (record.first_token - record.arrival).to_seconds());
  } else if (record.output_tokens > core::Tokens(1)) {
    const auto later = static_cast<double>(record.output_tokens.value() - 1);
    latencies_.emplace_back(record.last_token,
                            (record.last_token - record.first_token).to_seconds() / later);
  }
}

void ScalingPart::read(std::size_t variant, SimTime now, scaling::PoolReading& reading) {
  const ScaledPool& pool = inputs_.pools[variant];
  const Places& places = places_of(pool);
  reading.replicas.reserve(reading.replicas.size() + places.count);
  for (std::size_t place = places.first; place < places.first + places.count; ++place) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(place));
    if (operations_.state(id) != Lifecycle::kReady) {
      continue;
    }
    Known& known = known_[place];
    if (known.last_change == fleet_.last_change(id) && !fleet_.is_eager()) {
      reading.replicas.push_back(known.reading);
      continue;
    }
    engine::Instance& instance = fleet_.instance(id, now);
    const engine::InstanceState state = instance.state(now);
    const auto used = static_cast<double>(state.used_blocks.value());
    const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
    const core::TimeSum busy = inputs_.reads_busy ? instance.totals().busy : core::TimeSum();
    // A restart begins to count anew; a step is counted when it begins.
    const double share = std::max(core::TimeSum(), busy - busy_[place]).to_seconds() /
                         inputs_.metrics_interval.to_seconds();
    busy_[place] = busy;
    reading.replicas.push_back({.id = id,
                                .waiting = state.waiting,
                                .running = state.running,
                                .kv_usage = all > 0.0 ? used / all : 0.0,
                                .busy = std::min(share, 1.0),
                                .queued_tokens = state.queued_prompt_tokens,
                                .kv_capacity = pool.kv_capacity,
                                .context = pool.context,
                                .variant = variant});
    const bool is_still = share == 0.0 && fleet_.is_still(id);
    is_still_ = is_still_ && is_still;
    known = {.reading = reading.replicas.back(),
             .last_change = is_still ? std::optional(fleet_.last_change(id)) : std::nullopt};
  }
}

void ScalingPart::decide(SimTime now) {
  std::vector<scaling::Variant> variants;
  scaling::PoolHistory history{.readings = newest_};
  for (const ScaledPool& pool : inputs_.pools) {
    const scaling::Variant& one = variants.emplace_back(
        scaling::Variant{.replicas = operations_.num_replicas(places_of(pool)),
                         .ready = operations_.num_ready(places_of(pool)),
                         .min_replicas = pool.min_replicas,
                         .max_replicas = pool.max_replicas,
                         .cost = pool.cost,
                         .kv_capacity = pool.kv_capacity});
    history.replicas += one.replicas;
    history.ready += one.ready;
    history.min_replicas += one.min_replicas;
    history.max_replicas += one.max_replicas;
  }
  history.variants = variants;
  const scaling::ScalePlan plan = inputs_.scaler->evaluate(history, now);
  RIDGELINE_CHECK(
      plan.by_variant.empty() ? variants.size() == 1 : plan.by_variant.size() == variants.size(),
      "an autoscaler decides for each of its pools");
  bool is_changed = false;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::int64_t wanted = plan.by_variant.empty() ? plan.replicas : plan.by_variant[i];
    is_changed = is_changed || wanted != variants[i].replicas;
    scale(inputs_.pools[i], wanted, plan.reason, now);
  }
  if (!is_changed) {
    rest(history, now);
  }
}

void ScalingPart::scale(const ScaledPool& pool,
                        std::int64_t wanted,
                        std::string_view reason,
                        SimTime now) {
  const Places& places = places_of(pool);
  const std::int64_t replicas = operations_.num_replicas(places);
  wanted = std::clamp(wanted, pool.min_replicas, pool.max_replicas);
  if (wanted > replicas) {  // One that drains still has its place.
    wanted = std::min(wanted, replicas + operations_.num_gone(places));
  }
  if (wanted == replicas) {
    return;
  }
  operations_.scale(wanted - replicas, now, places);
  RIDGELINE_CHECK(operations_.num_replicas(places) == wanted && wanted <= pool.max_replicas &&
                      wanted >= pool.min_replicas,
                  "scaling stays between its bounds");
  events_.push_back(
      {.at = now, .from = replicas, .to = wanted, .reason = reason, .pool = pool.name});
}

}  // namespace ridgeline::cluster

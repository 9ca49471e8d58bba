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
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "scaling/metric.hpp"
#include "scaling/scaler.hpp"

namespace ridgeline::cluster {

using core::SimTime;

ScalingPart::ScalingPart(Fleet& fleet, Operations& operations, ScalingInputs inputs)
    : fleet_(fleet),
      operations_(operations),
      inputs_(std::move(inputs)),
      next_reading_(scaling::next_multiple(SimTime(), inputs_.metrics_interval)),
      next_decision_(inputs_.scaler->next_decision(SimTime())),
      busy_(fleet.num_instances()) {}

std::vector<std::string_view> ScalingPart::pools() const {
  std::vector<std::string_view> names;
  for (const ScaledPool& pool : inputs_.pools) {
    names.push_back(pool.name);
  }
  return names;
}

SimTime ScalingPart::next_instant() const {
  return std::min(next_reading_, next_decision_);
}

void ScalingPart::act(SimTime now) {
  if (next_reading_ <= now) {
    read(now);
    next_reading_ = scaling::next_multiple(now, inputs_.metrics_interval);
  }
  if (next_decision_ <= now) {
    decide(now);
    next_decision_ = inputs_.scaler->next_decision(now);
  }
}

void ScalingPart::read(SimTime now) {
  scaling::PoolReading reading{.at = now};
  // A request that several of the pools may serve counts once.
  const Places& first = places_of(inputs_.pools.front());
  reading.held = operations_.num_held(first);
  const std::int64_t arrivals = operations_.num_arrivals(first);
  reading.arrivals = arrivals - std::exchange(arrivals_, arrivals);
  for (std::size_t variant = 0; variant < inputs_.pools.size(); ++variant) {
    read(variant, now, reading);
  }
  reading.latency = latency(now);
  newest_.clear();
  newest_.push_back(std::move(reading));
}

/// Of requests that ended before `now`: which of those at this instant are known depends on how far
/// instances were advanced.
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
  for (std::size_t place = places.first; place < places.first + places.count; ++place) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(place));
    if (operations_.state(id) != Lifecycle::kReady) {
      continue;
    }
    engine::Instance& instance = fleet_.instance(id, now);
    const engine::InstanceState state = instance.state(now);
    const auto used = static_cast<double>(state.used_blocks.value());
    const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
    const core::Duration busy = inputs_.reads_busy ? instance.totals().busy : core::Duration();
    // A restart begins to count anew; a step is counted when it begins.
    const double share = std::max(core::Duration(), busy - busy_[place]).to_seconds() /
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
  for (std::size_t i = 0; i < variants.size(); ++i) {
    scale(inputs_.pools[i],
          plan.by_variant.empty() ? plan.replicas : plan.by_variant[i],
          plan.reason,
          now);
  }
}

void ScalingPart::scale(const ScaledPool& pool,
                        std::int64_t wanted,
                        std::string_view reason,
                        SimTime now) {
  const Places& places = places_of(pool);
  const std::int64_t replicas = operations_.num_replicas(places);
  wanted = std::clamp(wanted, pool.min_replicas, pool.max_replicas);
  // One that drains still has its place.
  wanted = std::min(wanted, replicas + operations_.num_gone(places));
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

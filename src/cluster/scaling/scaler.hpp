#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

/// How many replicas there are: what autoscalers see, and what they decide.
namespace ridgeline::scaling {

/// What one ready replica showed at a reading.
struct ReplicaReading {
  core::InstanceId id = {};
  std::int64_t waiting = 0;         ///< Requests in the engine's queue.
  std::int64_t running = 0;         ///< Requests that hold a seat.
  double kv_usage = 0.0;            ///< Used share of the KV blocks, 0 to 1.
  double busy = 0.0;                ///< Share of the time since the reading before spent in steps.
  core::Tokens queued_tokens = {};  ///< Prompt tokens of the waiting requests.
  core::Tokens kv_capacity = {};
  core::Tokens context = {};  ///< Longest request.
  std::size_t variant = 0;    ///< Index in PoolHistory::variants.
};

/// What a pool's metrics showed at one instant.
struct PoolReading {
  core::SimTime at = {};
  std::vector<ReplicaReading> replicas = {};  ///< Ready then, in the order of their ids.
  std::int64_t held = 0;                      ///< Requests at the gateway that wait for a replica.
  std::int64_t arrivals = 0;                  ///< Since the reading before.
  /// Seconds: the latency that the autoscaler asks for; nothing where no request has ended lately.
  std::optional<double> latency = {};

  /// Whether there was a request anywhere.
  [[nodiscard]] bool is_active() const;
};

/// Replicas that are alike, and the bounds of their number.
struct Variant {
  std::int64_t replicas = 0;  ///< Ready or on their way to be.
  std::int64_t ready = 0;     ///< Ready now.
  std::int64_t min_replicas = 0;
  std::int64_t max_replicas = 0;
  double cost = 0.0;              ///< Cost of each replica, in any unit.
  core::Tokens kv_capacity = {};  ///< KV capacity of each replica.
};

/// What an autoscaler may look at. Numbers of replicas are sums over the variants.
struct PoolHistory {
  std::span<const PoolReading> readings;  ///< In order of time; the last is the newest.
  std::span<const Variant> variants = {};
  std::int64_t replicas = 0;  ///< Ready or on their way to be.
  std::int64_t ready = 0;     ///< Ready now.
  std::int64_t min_replicas = 0;
  std::int64_t max_replicas = 0;

  [[nodiscard]] const PoolReading* newest() const {
    return readings.empty() ? nullptr : &readings.back();
  }
};

/// How many replicas there are to be. What lies outside min_replicas to max_replicas is cut to it.
struct ScalePlan {
  std::int64_t replicas = 0;
  std::string_view reason = "no change";
  std::vector<std::int64_t> by_variant = {};  ///< Empty: `replicas` of the only one.
};

/// Decides how many replicas a pool has. May remember what it was shown; is shown readings, and
/// never an engine.
class Scaler {
 public:
  Scaler() = default;
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;
  virtual ~Scaler() = default;

  /// The next instant of a decision, later than `now`; never() for none.
  [[nodiscard]] virtual core::SimTime next_decision(core::SimTime now) const = 0;
  [[nodiscard]] virtual ScalePlan evaluate(const PoolHistory& history, core::SimTime now) = 0;

  // A pool that rests is not looked at: the last decision changed nothing, and what it was made of
  // stays as it is.

  /// As long as nothing else is shown, decisions before this instant are like that at `now`, the
  /// last one. An autoscaler that does not say is asked at each of its instants.
  [[nodiscard]] virtual core::SimTime same_until(const PoolHistory& history,
                                                 core::SimTime now) const {
    static_cast<void>(history);
    return now;
  }
  /// The last instant of a decision before `now`, which is one of a pool that rested.
  [[nodiscard]] virtual core::SimTime last_decision(core::SimTime now) const { return now; }
  /// The pool rested: what would have been decided from the last decision to that at `last`, which
  /// would have been shown `newest`, is to be remembered.
  virtual void rested(const PoolReading& newest, core::SimTime last) {
    static_cast<void>(newest);
    static_cast<void>(last);
  }
};

/// The next multiple of `interval` after `now`, and the last one before it, which is later than 0.
[[nodiscard]] core::SimTime next_multiple(core::SimTime now, core::Duration interval);
[[nodiscard]] core::SimTime last_multiple(core::SimTime now, core::Duration interval);

}  // namespace ridgeline::scaling

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"

namespace ridgeline::cluster {

/// Instances that are alike, as one autoscaler has them.
struct ScaledPool {
  std::size_t places = 0;  ///< Which of Operations::places().
  std::int64_t min_replicas = 1;
  std::int64_t max_replicas = 1;
  core::Tokens kv_capacity = {};  ///< KV capacity of each instance.
  core::Tokens context = {};      ///< The longest request of each.
  double cost = 0.0;              ///< Cost of each instance.
  std::string_view name = {};     ///< Where there are several.
};

struct ScalingInputs {
  std::unique_ptr<scaling::Scaler> scaler;
  std::vector<ScaledPool> pools;                                  ///< In the order of their places.
  core::Duration metrics_interval = core::Duration::seconds(15);  ///< Prometheus' usual one.
  bool reads_busy = false;  ///< Whether the autoscaler looks at busy shares.
  std::optional<scaling::LatencyWindow> latency = {};  ///< What it looks at of requests.
  bool sees_all_requests = false;  ///< And not only those that ended at its instances.
};

/// A change of the number of replicas.
struct ScaleEvent {
  core::SimTime at;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string_view reason;
  std::string_view pool = {};
};

/// Reads the metrics of the ready instances at their interval, and asks the autoscaler at its own.
/// A pool rests while it could only read and decide what it last did: no instant of it is an event.
class ScalingPart final : public Part {
 public:
  ScalingPart(Fleet& fleet, Operations& operations, ScalingInputs inputs);

  [[nodiscard]] core::SimTime next_instant() const override;
  void act(core::SimTime now) override;
  void on_end(const Ticket& ticket, domain::RequestRecord& record) override;

  [[nodiscard]] const std::vector<ScaleEvent>& events() const { return events_; }
  /// The names of what it scales.
  [[nodiscard]] std::vector<std::string_view> pools() const;

 private:
  /// What a replica showed at a reading.
  struct Known {
    scaling::ReplicaReading reading;
    /// Fleet::last_change() of one that was still: until another it shows the same.
    std::optional<std::uint64_t> last_change;
  };

  void read(core::SimTime now);
  void read(std::size_t variant, core::SimTime now, scaling::PoolReading& reading);
  [[nodiscard]] std::optional<double> latency(core::SimTime now);
  [[nodiscard]] core::SimTime first_reading(core::SimTime from) const;
  [[nodiscard]] core::SimTime first_decision(core::SimTime from) const;
  void decide(core::SimTime now);
  void rest(const scaling::PoolHistory& history, core::SimTime now);
  void wake(core::SimTime now);
  [[nodiscard]] bool is_disturbed() const {
    return is_disturbed_ || changes_seen_ != fleet_.num_changes();
  }
  void scale(const ScaledPool& pool,
             std::int64_t wanted,
             std::string_view reason,
             core::SimTime now);
  [[nodiscard]] const Places& places_of(const ScaledPool& pool) const {
    return operations_.places()[pool.places];
  }

  Fleet& fleet_;
  Operations& operations_;
  ScalingInputs inputs_;
  core::SimTime next_reading_;
  core::SimTime next_decision_;
  bool is_still_ = false;  ///< The next reading shows what the newest does, if nothing is done.
  core::SimTime rests_from_;
  std::optional<core::SimTime> rests_until_;  ///< While it rests, unless it is disturbed:
  bool is_disturbed_ = false;                 ///< by a latency,
  std::uint64_t changes_seen_ = 0;            ///< or a change since the last reading.
  std::vector<scaling::PoolReading> newest_;  ///< One, once there was one.
  std::int64_t arrivals_ = 0;                 ///< Until the last reading.
  std::vector<core::TimeSum> busy_;           ///< Busy time of each instance at the last reading.
  std::vector<Known> known_;                  ///< What is known of each instance.
  /// When requests ended that have a latency, and it in seconds: since the window's begin.
  std::vector<std::pair<core::SimTime, double>> latencies_;
  std::vector<ScaleEvent> events_;
};

}  // namespace ridgeline::cluster

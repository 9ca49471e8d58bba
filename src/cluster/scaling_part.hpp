#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "scaling/scaler.hpp"

namespace ridgeline::cluster {

struct ScalingInputs {
  std::unique_ptr<scaling::Scaler> scaler;
  std::int64_t min_replicas = 1;
  std::int64_t max_replicas = 1;
  core::Duration metrics_interval = core::Duration::seconds(15);  ///< Prometheus' usual one.
  core::Tokens kv_capacity = {};                                  ///< Of each instance.
  core::Tokens context = {};                                      ///< The longest request of each.
  std::size_t places = 0;      ///< Which of Operations::places() it scales.
  std::string_view pool = {};  ///< Its name, where there are several.
  bool reads_busy = false;     ///< Whether the autoscaler looks at busy shares.
};

/// A change of the number of replicas.
struct ScaleEvent {
  core::SimTime at;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string_view reason;
};

/// Reads the metrics of the ready instances at their interval, and asks the autoscaler at its own.
class ScalingPart final : public Part {
 public:
  ScalingPart(Fleet& fleet, Operations& operations, ScalingInputs inputs);

  [[nodiscard]] core::SimTime next_instant() const override;
  void act(core::SimTime now) override;

  [[nodiscard]] const std::vector<ScaleEvent>& events() const { return events_; }
  [[nodiscard]] std::string_view pool() const { return inputs_.pool; }

 private:
  void read(core::SimTime now);
  void decide(core::SimTime now);

  Fleet& fleet_;
  Operations& operations_;
  ScalingInputs inputs_;
  Places places_;
  core::SimTime next_reading_;
  core::SimTime next_decision_;
  std::vector<scaling::PoolReading> newest_;  ///< One, once there was one.
  std::int64_t arrivals_ = 0;                 ///< Until the last reading.
  std::vector<core::Duration> busy_;          ///< Of each instance, at the last reading.
  std::vector<ScaleEvent> events_;
};

}  // namespace ridgeline::cluster

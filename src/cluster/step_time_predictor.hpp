#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/pools.hpp"
#include "routing/predictor.hpp"

namespace ridgeline::cluster {

/// By how much a predictor is wrong: a predicted time is the right one times 1 + bias + sd z, not
/// below zero, where z is standard normal, drawn for each request, instance and kind of time.
struct PredictorError {
  double bias = 0.0;
  double sd = 0.0;
};

/// llm-d's latency predictor is a service that learns from what was served. Here the step-time
/// model of the instances stands for what it has learned: the time to first token is that of the
/// steps which compute the prompt tokens that wait at the instance and those of the request, in
/// budgets' worth beside what runs; the time per token is that of a step of what runs and the
/// request. It knows no output length, and so not when a seat or blocks will be free. It remembers
/// its last answer, since idle instances are alike: one thread asks it.
class StepTimePredictor final : public routing::LatencyPredictor {
 public:
  /// The pools have all instances, in the order of their ids; what they point to outlives this.
  StepTimePredictor(std::vector<InstancePool> pools,
                    const PredictorError& error,
                    std::uint64_t seed);

  [[nodiscard]] routing::Latency predict(const routing::Prospect& prospect) const override;

 private:
  /// Without the error, which is a request's own at each instance.
  [[nodiscard]] routing::Latency right(const routing::Prospect& prospect) const;

  using Question =
      std::tuple<std::size_t, std::int64_t, double, std::int64_t, std::int64_t, std::int64_t>;

  std::vector<InstancePool> pools_;
  std::vector<std::size_t> pool_of_;  ///< By instance.
  PredictorError error_;
  std::uint64_t seed_;
  mutable std::optional<std::pair<Question, routing::Latency>> last_;
};

}  // namespace ridgeline::cluster

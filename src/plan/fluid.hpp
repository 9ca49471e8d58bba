#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "latency/step_time_model.hpp"
#include "plan/demand.hpp"
#include "plan/target.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::plan {

/// What a mean-value estimate is made from. References outlive it.
struct FluidInputs {
  const scenario::Deployment& deployment;
  const latency::StepTimeModel& model;  ///< The deployment's, or one with other step times.
  const Demand& demand;
  double kv_scale = 1.0;    ///< Times the KV blocks of the deployment.
  double host_scale = 1.0;  ///< Times its host's work per step.
};

/// A steady state in means (planner.md, section 5): B = rate * E[out] * T requests decode, p = rate
/// * E[in] * T prompt tokens come per step, f = min(1, p / chunk) of the steps carry a chunk, and
/// T = (1 - f) * step(B) + f * step(B, chunk).
struct FluidState {
  double rate = 0.0;
  double step_s = 0.0;        ///< T: the mean time of a token.
  double decodes = 0.0;       ///< B
  double chunk_share = 0.0;   ///< f
  double chunk_tokens = 0.0;  ///< Prompt tokens of a step that carries a chunk.
};

/// The state at a rate of one deployment, per second; nothing where requests come faster than they
/// are served.
[[nodiscard]] std::optional<FluidState> fluid_state(const FluidInputs& inputs, double rate);

/// The highest rate with a steady state: the saturated throughput of one deployment.
[[nodiscard]] double fluid_saturation(const FluidInputs& inputs);

/// The highest rate at which the means leave room for the targets: T within the target of TPOT, and
/// the queue of prompts, taken as one of a single server with exponential tail, within that of
/// TTFT. 0 where no rate does. An estimate: it ranks and brackets, and decides nothing. Of a closed
/// loop: the most clients.
[[nodiscard]] double fluid_capacity(const FluidInputs& inputs, const Targets& targets);
/// fluid_capacity() where fluid_saturation() is known.
[[nodiscard]] double fluid_capacity(const FluidInputs& inputs,
                                    const Targets& targets,
                                    double saturation);

/// Where a capacity is looked for, in requests per second or, of a closed loop, clients.
struct LoadRange {
  double guess = 0.0;    ///< fluid_capacity(); 0 where no load is estimated to meet the targets.
  double fullest = 0.0;  ///< The saturated throughput, or the clients that can run at once.
  double highest = 0.0;  ///< No capacity is taken to be higher.

  /// Where a search begins; without an estimate somewhere low.
  [[nodiscard]] double start() const {
    constexpr double kUnknownShare = 0.25;
    return guess > 0.0 ? std::min(guess, highest) : highest * kUnknownShare;
  }
};

/// The range of so many deployments alike. No rate is above `max_utilisation` of the saturated
/// throughput. Clients that wait for a seat show in TTFT and E2E: with targets of neither none are
/// counted on, else some.
[[nodiscard]] LoadRange load_range(const FluidInputs& inputs,
                                   const Targets& targets,
                                   double deployments,
                                   double max_utilisation);

/// Time of one step, host and GPU as the engine composes them: so many decodes with that context
/// each, and a chunk of a prompt (0: none) behind `past` tokens.
[[nodiscard]] double step_seconds(const FluidInputs& inputs,
                                  std::int64_t decodes,
                                  double context_each,
                                  std::int64_t chunk,
                                  std::int64_t past = 0);

/// Requests that can run at once, by seats and by KV blocks of requests of mean length.
[[nodiscard]] double most_running(const FluidInputs& inputs);

}  // namespace ridgeline::plan

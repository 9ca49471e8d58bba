#include "plan/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/frontend.hpp"
#include "engine/options.hpp"
#include "metrics/slo.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

using metrics::Metric;

/// Requests of the sample over which a mean is bounded: every so many of them, by length.
constexpr std::size_t kMeanPoints = 64;

/// Tokens that a step can give one request.
double most_tokens_per_step(const FluidInputs& inputs) {
  return 1.0 + core::real(inputs.deployment.engine.num_speculative_tokens);
}

/// Fewest tokens of a prompt that are computed: those that no other prompt can have left in the
/// cache.
std::int64_t computed_tokens(const FluidInputs& inputs, std::int64_t input) {
  const engine::EngineOptions& options = inputs.deployment.engine;
  if (!options.enable_prefix_caching) {
    return input;
  }
  return inputs.demand.names_prompts ? 1 : std::max<std::int64_t>(1, input - inputs.demand.spared);
}

/// From the client's click to its first token, the engine empty.
double first_token_s(const FluidInputs& inputs, const SampledRequest& request) {
  const engine::EngineOptions& options = inputs.deployment.engine;
  const engine::RequestPath& path = inputs.deployment.path;
  engine::Frontend frontend(path);
  const double queued = frontend.admit(core::SimTime(), core::Tokens(request.input)).to_seconds();
  const std::int64_t chunk = engine::token_budget(options).value();
  std::int64_t left = computed_tokens(inputs, request.input);
  std::int64_t past = request.input - left;
  double steps = 0.0;
  while (left > 0) {
    const std::int64_t now = std::min(chunk, left);
    steps += step_seconds(inputs, 0, 0.0, now, past);
    past += now;
    left -= now;
  }
  return queued + steps + (path.emit + path.deliver).to_seconds();
}

double token_s(const FluidInputs& inputs, const SampledRequest& request) {
  if (request.output < 2) {
    return 0.0;  // It has none, which counts as met.
  }
  return step_seconds(inputs, 1, core::real(request.input), 0) / most_tokens_per_step(inputs);
}

double alone_s(const FluidInputs& inputs, const SampledRequest& request, Metric metric) {
  switch (metric) {
    case Metric::kTtft:
      return first_token_s(inputs, request);
    case Metric::kTpot:
      return token_s(inputs, request);
    default:
      return core::real(std::max<std::int64_t>(0, request.output - 1)) *
             step_seconds(inputs, 1, 1.0, 0) / most_tokens_per_step(inputs);
  }
}

core::Duration duration(double seconds) {
  return core::Duration::saturating(core::Seconds(seconds));
}

/// By what a latency of that kind, alone, grows with.
const std::vector<SampledRequest>& by_size(const Demand& demand, Metric metric) {
  return metric == Metric::kTtft   ? demand.by_input
         : metric == Metric::kTpot ? demand.by_context
                                   : demand.by_output;
}

/// The request of which no more than that share have more to do.
const SampledRequest& quantile(const std::vector<SampledRequest>& sorted, double allowed_share) {
  const auto above = static_cast<std::size_t>(
      std::floor(allowed_share * core::real(static_cast<std::int64_t>(sorted.size()))));
  return sorted[sorted.size() - 1 - std::min(above, sorted.size() - 1)];
}

std::string text_of(const Target& target, Metric metric, const BoundProof& proof) {
  const std::string which =
      target.is_mean() ? "on average"
      : target.is_attainment
          ? fmt::format("for one request in {:.4g}", 1.0 / std::max(target.allowed_share, 1e-9))
          : fmt::format("for the {} prompt of {} tokens",
                        metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)],
                        proof.input);
  return fmt::format(
      "{} is {} {} without load", metric_text(metric), time_text(proof.at_least), which);
}

}  // namespace

BoundProof least_of(const FluidInputs& inputs, const Target& target, Metric metric) {
  const std::vector<SampledRequest>& sorted = by_size(inputs.demand, metric);
  BoundProof proof;
  if (target.is_mean()) {
    const std::size_t stride = std::max<std::size_t>(1, sorted.size() / kMeanPoints);
    double sum = 0.0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i + stride <= sorted.size(); i += stride) {  // Each stretch's least.
      sum += alone_s(inputs, sorted[i], metric);
      ++count;
    }
    proof.at_least = duration(sum / core::real(count));
  } else {
    const SampledRequest& request = quantile(sorted, target.allowed_share);
    proof.input = request.input;
    proof.output = request.output;
    proof.at_least = duration(alone_s(inputs, request, metric));
  }
  proof.text = text_of(target, metric, proof);
  return proof;
}

Bounds bounds_of(const FluidInputs& inputs, const Targets& targets) {
  Bounds bounds;
  const Demand& demand = inputs.demand;
  const auto stages = core::real(
      std::max<std::int64_t>(1, inputs.deployment.section.engine.pipeline_parallel_size));
  const double running = std::max(1.0, std::floor(most_running(inputs) / stages));
  const double full = step_seconds(inputs, static_cast<std::int64_t>(running), 1.0, 0);
  const double by_decode =
      stages * running * most_tokens_per_step(inputs) / full / std::max(1.0, demand.mean_output);
  const std::int64_t chunk = engine::token_budget(inputs.deployment.engine).value();
  const double by_prompt = demand.names_prompts
                               ? by_decode
                               : stages * core::real(chunk) / step_seconds(inputs, 0, 0.0, chunk) /
                                     std::max(1.0, demand.mean_input);
  bounds.most_rate = std::min(by_decode, by_prompt);
  for (std::size_t i = 0; i < targets.size() && !bounds.proof; ++i) {
    for (std::size_t m = 0; m < metrics::kNumMetrics; ++m) {
      const auto limit = targets[i].limits[m];
      if (!limit) {
        continue;
      }
      BoundProof proof = least_of(inputs, targets[i], static_cast<Metric>(m));
      if (proof.at_least > *limit) {
        proof.target = i;
        bounds.proof = std::move(proof);
        break;
      }
    }
  }
  return bounds;
}

}  // namespace ridgeline::plan

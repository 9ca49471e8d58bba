#include "report/results/explanation_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/check.hpp"
#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "hardware/gpu_spec.hpp"
#include "scenario/deployment.hpp"
#include "scenario/length.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::report {
namespace {

/// Tokens of a request in decode that a window cannot give up yet beside its own: those of the next
/// step and, where the version keeps them, of the one in flight.
core::Tokens tokens_of_decode(const engine::EngineOptions& options) {
  const core::Tokens step(1 + options.num_speculative_tokens);
  const bool keeps_both = options.async_scheduling && options.profile.windows_keep_steps_in_flight;
  return keeps_both ? step * 2 : step;
}

}  // namespace

std::optional<double> ridge(core::FlopsPerSecond peak, const hardware::GpuSpec& gpu) {
  return peak.value() > 0.0 ? std::optional(peak.value() / gpu.mem_bandwidth.value())
                            : std::nullopt;
}

const char* kind_name(engine::CacheLayout::Kind kind) {
  switch (kind) {
    case engine::CacheLayout::Kind::kWhole:
      return "whole";
    case engine::CacheLayout::Kind::kWindow:
      return "window";
    case engine::CacheLayout::Kind::kState:
      return "state";
  }
  RIDGELINE_CHECK(false, "a kind of cache without a name");
}

std::int64_t held_tokens(const scenario::Deployment& deployment) {
  const std::int64_t groups = std::max<std::int64_t>(1, deployment.memory.num_groups());
  return (deployment.engine.num_gpu_blocks.value() - 1) / groups *
         deployment.engine.block_size.value();
}

std::int64_t blocks_of_longest(const scenario::Deployment& deployment) {
  return engine::blocks_of_request(
      deployment.memory, deployment.engine.max_model_len, deployment.engine.max_num_batched_tokens);
}

std::optional<core::Tokens> tokens_of_request(const scenario::WorkloadSection& workload) {
  if (!workload.input_len || !workload.output_len) {
    return std::nullopt;
  }
  const double tokens = scenario::mean_length(*workload.input_len) +
                        scenario::mean_length(*workload.output_len) +
                        static_cast<double>(workload.prefix_len.value_or(0));
  return core::Tokens(static_cast<std::int64_t>(std::ceil(tokens)));
}

double requests_held(const scenario::Deployment& deployment, core::Tokens tokens) {
  const std::int64_t blocks =
      engine::blocks_of_request(deployment.memory, tokens, tokens_of_decode(deployment.engine));
  return static_cast<double>(deployment.engine.num_gpu_blocks.value() - 1) /
         static_cast<double>(blocks);
}

double requests_of_longest(const scenario::Deployment& deployment) {
  const auto& engine = deployment.engine;
  const bool whole = deployment.memory.num_groups() <= 1 && engine::has_one_full_cache(engine);
  // Where windows or states count, as vLLM does: all blocks, the null block among them.
  return whole ? static_cast<double>(held_tokens(deployment)) /
                     static_cast<double>(engine.max_model_len.value())
               : static_cast<double>(engine.num_gpu_blocks.value()) /
                     static_cast<double>(blocks_of_longest(deployment));
}

}  // namespace ridgeline::report

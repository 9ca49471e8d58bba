#include "verbs/explain_facts.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

#include "core/check.hpp"
#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/deployment.hpp"
#include "scenario/length.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {
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

}  // namespace ridgeline::verbs

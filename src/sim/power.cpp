#include "sim/power.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/int128.hpp"
#include "core/math.hpp"
#include "core/units.hpp"
#include "latency/power/power_law.hpp"
#include "latency/power/run_power.hpp"
#include "metrics/power_summary.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "model/operators.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/fleet.hpp"
#include "sim/operations.hpp"

namespace ridgeline::sim {
namespace {

std::int64_t rounded_ratio(core::Int128 whole, std::int64_t parts) {
  return parts == 0 ? 0 : static_cast<std::int64_t>((whole + parts / 2) / parts);
}

/// Seconds in which instances stood ready or on their way, all together.
double instance_seconds(const scenario::Resolved& resolved,
                        const metrics::Summary& summary,
                        const metrics::WorkDone& work) {
  const auto& cluster = resolved.run.cluster;
  const bool is_scaled = cluster.autoscaling.name || cluster.rolling_update.update_at;
  if (is_scaled && summary.fleet && summary.fleet->operations &&
      summary.fleet->operations->scaling) {
    return summary.fleet->operations->scaling->replica_seconds;
  }
  return (*summary.duration_s + work.warmup_s) *
         core::real(std::max<std::int64_t>(num_places(resolved), 1));
}

}  // namespace

std::optional<metrics::PowerSummary> power_of(const scenario::Resolved& resolved,
                                              const metrics::Summary& summary,
                                              const metrics::WorkDone& work) {
  if (resolved.pools.size() > 1 || !summary.duration_s || work.prompts == 0 || summary.steps == 0) {
    return std::nullopt;
  }
  const scenario::Deployment& deployment = *resolved.deployment;
  const double busy = summary.busy.to_seconds();
  const latency::MeanSteps mean = {
      .steps = summary.steps,
      .decodes = core::real(work.decode_tokens) / core::real(summary.steps),
      .decode_context = core::Tokens(rounded_ratio(work.decode_context, work.decode_tokens)),
      .prompts = work.prompts,
      .prompt = core::Tokens(rounded_ratio(work.prompt_tokens, work.prompts)),
      .busy = core::Seconds(busy)};
  const auto power =
      latency::run_power(*deployment.latency, deployment.execution, deployment.gpu, mean);
  if (!power) {
    return std::nullopt;
  }
  const double all = std::max(instance_seconds(resolved, summary, work), busy);
  const double idle = latency::idle_power(deployment.gpu);
  const auto mean_of = [&](double working) { return (busy * working + (all - busy) * idle) / all; };
  metrics::PowerSummary result{.mean = mean_of(power->working.expected),
                               .low = mean_of(power->working.low),
                               .high = mean_of(power->working.high),
                               .decode = power->decode,
                               .prefill = power->prefill,
                               .idle = idle,
                               .own_law = latency::power_laws_of(deployment.gpu).size() == 1,
                               .joules_per_output_token = std::nullopt};
  const std::int64_t output_tokens = summary.total_output_tokens + work.warmup_output_tokens;
  if (output_tokens > 0) {
    // Data-parallel ranks are instances of their own, or one of them stands for all.
    result.joules_per_output_token = result.mean * all *
                                     core::real(deployment.execution.sharding.gpus_of_rank()) /
                                     core::real(output_tokens);
  }
  return result;
}

}  // namespace ridgeline::sim

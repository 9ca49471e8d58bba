#include "sim/front_end.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "engine/acceptance.hpp"
#include "engine/options.hpp"
#include "engine/serving.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::sim {
namespace {

/// A run begins and ends with fewer requests than it has in between, so that a front end which
/// bounds it stands still for a part of it.
constexpr double kBound = 0.9;

/// What one API process streams as a rule, tokens per second: 5,000 to 10,000 (from memory), of
/// which this is the middle. The constant of engine/serving.hpp is that of the fastest that was
/// measured, 13,500.
constexpr double kUsualRate = 7'500.0;

/// The time that API processes take as a rule over that of the fastest.
double usual_over_fastest() {
  return 1.0 / (kUsualRate * engine::serving_constants().host.per_answer.to_seconds());
}

/// Whether the scenario says how fast its API processes are.
bool is_stated(const scenario::Resolved& resolved) {
  using Origin = scenario::Provenance::Origin;
  return std::ranges::any_of(resolved.provenance, [](const scenario::Provenance& value) {
    return value.path == "serving.frontend_output_time" &&
           (value.origin == Origin::kFile || value.origin == Origin::kFlag);
  });
}

}  // namespace

std::optional<core::Warning> front_end_warning(const scenario::Resolved& resolved,
                                               const metrics::Summary& summary,
                                               const metrics::WorkDone& work) {
  const scenario::Deployment& deployment = *resolved.deployment;
  const engine::EngineOptions& options = deployment.engine;
  const double busy = summary.busy.to_seconds();
  if (resolved.pools.size() > 1 || !(busy > 0.0)) {
    return std::nullopt;
  }
  // What a step gives a sequence is streamed at once, its accepted drafts included.
  const double at_once = engine::expected_tokens(options, options.num_speculative_tokens);
  const double streamed = core::real(work.prompts) + core::real(work.decode_tokens) / at_once;
  const double load = streamed * deployment.host.per_answer.to_seconds() / busy;
  const char* const hint = "--api-server-count, --stream-interval";
  if (load >= kBound) {
    return core::Warning{.code = kFrontEndBound,
                         .message = fmt::format(
                             "bound by the front end: the API server streams at most {:.3g} output "
                             "tokens per second, and the GPUs wait for it",
                             at_once / deployment.host.per_answer.to_seconds()),
                         .hint = hint};
  }
  if (load * usual_over_fastest() < 1.0 || is_stated(resolved)) {
    return std::nullopt;
  }
  return core::Warning{
      .code = kFrontEndNear,
      .message = fmt::format("near the limit of the front end: the API server is at work for "
                             "{:.0f} % of the engine's time; steps of decodes may wait for it, and "
                             "do on a host that takes twice as long",
                             100.0 * load),
      .hint = hint};
}

}  // namespace ridgeline::sim

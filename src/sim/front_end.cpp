#include "sim/front_end.hpp"

#include <optional>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "engine/acceptance.hpp"
#include "engine/options.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {
namespace {

/// A run begins and ends with fewer requests than it has in between, so that a front end which
/// bounds it stands still for a part of it.
constexpr double kBound = 0.9;

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
  if (load < kBound) {
    return std::nullopt;
  }
  return core::Warning{
      .code = kFrontEndBound,
      .message = fmt::format("bound by the front end: the API server streams at most {:.3g} output "
                             "tokens per second, and the GPUs wait for it",
                             at_once / deployment.host.per_answer.to_seconds()),
      .hint = "--api-server-count, --stream-interval"};
}

}  // namespace ridgeline::sim

#include "scaling/cold_start.hpp"

#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::scaling {
namespace {

core::Duration drawn(const StartPhase& phase, core::RngStream& draws) {
  if (phase.sd == core::Duration() || phase.mean == core::Duration()) {
    return phase.mean;
  }
  const core::LogMoments moments =
      core::log_moments_of(phase.mean.to_seconds(), phase.sd.to_seconds());
  return core::Duration::saturating(core::Seconds(core::lognormal(draws, moments)));
}

}  // namespace

StartTimes start_times(const ColdStart& start, core::RngStream& draws) {
  // One after the other: the order of the draws is part of the result.
  const core::Duration schedule = drawn(start.schedule, draws);
  const core::Duration pull = drawn(start.pull, draws);
  const core::Duration load = drawn(start.load, draws);
  const core::Duration compile = drawn(start.compile, draws);
  const core::Duration capture = drawn(start.capture, draws);
  const core::Duration warm_up = drawn(start.warm_up, draws);
  using core::Duration;
  return {.pending = Duration::saturating_sum(schedule, pull),
          .loading = load,
          .warming = Duration::saturating_sum(Duration::saturating_sum(compile, capture), warm_up)};
}

}  // namespace ridgeline::scaling

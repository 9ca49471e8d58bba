#include "scaling/cold_start.hpp"

#include <algorithm>

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

/// One layer of the measured network, one rank, a common host.
constexpr core::Seconds kCompileLayer{15.5 / 36};
constexpr core::Seconds kCaptureLayer{13.5 / 36 / 147};  ///< And of one graph size.
/// A step of the largest size, to see what memory is left, with the kernels that it compiles.
constexpr core::Seconds kProfileRun{16.6};
/// Before weights are read and after the engine is ready: processes, imports, API server.
constexpr core::Seconds kProcesses{58.0};
/// A slower host's processes stand in each other's way: 1 + this * (class - 1) * ranks.
constexpr double kSlowRanks = 0.11;

}  // namespace

ColdStart computed_start(const StartFacts& facts) {
  const double slow =
      1.0 + kSlowRanks * std::max(0.0, facts.host_class - 1.0) * static_cast<double>(facts.ranks);
  const auto takes = [](double factor, core::Seconds time) {
    return StartPhase{.mean = core::Duration::saturating(factor * time)};
  };
  const double layers = facts.graph_sizes > 0 ? static_cast<double>(facts.layers) : 0.0;
  ColdStart start;
  start.load = {.mean = core::Duration::saturating(facts.weights / kDefaultLoadBandwidth)};
  start.compile = takes(slow * layers, kCompileLayer);
  start.capture = takes(slow * layers * static_cast<double>(facts.graph_sizes), kCaptureLayer);
  start.warm_up = takes(slow, kProcesses + kProfileRun);
  return start;
}

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

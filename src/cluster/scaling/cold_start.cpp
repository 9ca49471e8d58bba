#include "cluster/scaling/cold_start.hpp"

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

// Means of the two starts with one rank on a common host; compiling and capturing of one layer of
// the measured network.
constexpr core::Seconds kProcessesOnce{30.0};  ///< API server, engine: however many ranks.
constexpr core::Seconds kProcessesOfRanks{28.3};
constexpr core::Seconds kBuild{3.3};
constexpr core::Seconds kProfile{16.6};
constexpr core::Seconds kCompileLayer{15.5 / 36};
constexpr core::Seconds kCaches{5.9};
constexpr core::Seconds kCaptureLayer{13.5 / 36 / 147};  ///< And of one graph size.
/// A slower host's ranks stand in each other's way: 1 + this * (class - 1) * ranks. Of capturing
/// and the profile run on the slow host, from 0.073 to 0.117.
constexpr double kSlowRanks = 0.093;
/// Factor for the compiler, which is all host work: 0.167 and 0.194 on that host.
constexpr double kSlowCompilers = 0.18;

}  // namespace

StartParts start_parts(const StartFacts& facts) {
  const double crowd = std::max(0.0, facts.host_class - 1.0) * static_cast<double>(facts.ranks);
  const double slow = 1.0 + kSlowRanks * crowd;
  const double layers = facts.graph_sizes > 0 ? static_cast<double>(facts.layers) : 0.0;
  return {.processes = kProcessesOnce + slow * kProcessesOfRanks,
          .weights = facts.weights / kDefaultLoadBandwidth,
          .build = slow * kBuild,
          .profile = slow * kProfile,
          .compile = (1.0 + kSlowCompilers * crowd) * layers * kCompileLayer,
          .caches = slow * kCaches,
          .capture = slow * layers * static_cast<double>(facts.graph_sizes) * kCaptureLayer};
}

ColdStart computed_start(const StartFacts& facts) {
  const StartParts parts = start_parts(facts);
  const auto takes = [](core::Seconds time) {
    return StartPhase{.mean = core::Duration::saturating(time)};
  };
  ColdStart start;
  start.load = takes(parts.weights);
  start.compile = takes(parts.compile);
  start.capture = takes(parts.capture);
  start.warm_up = takes(parts.processes + parts.build + parts.profile + parts.caches);
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

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/decision.hpp"
#include "cluster/request_story.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "engine/kv_events.hpp"
#include "engine/server.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/series.hpp"
#include "metrics/summary.hpp"
#include "routing/router.hpp"
#include "scenario/resolve.hpp"
#include "sim/driver.hpp"
#include "sim/step_watch.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// Parts of a run that its host brings, in place of those that the scenario names. They decide, so
/// the result is theirs: `config` does not hold them.
struct HostParts {
  const latency::StepTimeModel* step_time_model = nullptr;  ///< For a deployment without pools.
  std::function<std::unique_ptr<routing::Router>()> make_router = {};  ///< One for each gateway.
  /// Gets the scenario's own, which knows when decisions are due.
  std::function<std::unique_ptr<scaling::Scaler>(std::unique_ptr<scaling::Scaler>)> make_scaler =
      {};
};

/// How to run, as far as it changes no result; and what the host brings.
struct RunControls {
  engine::EngineCore core = engine::EngineCore::kFast;
  bool jump = true;                              ///< Advance equal steps in closed form.
  std::int64_t threads = 1;                      ///< As cluster::ClusterInputs::threads.
  const std::atomic<bool>* interrupt = nullptr;  ///< Set: stop soon, with what there is.
  std::function<void(const Progress&)> progress = {};
  metrics::Listener* listener = nullptr;
  bool latencies = true;  ///< False: the summary has none; the listener still gets each request's.
  StepListener* steps = nullptr;               ///< Every step taken apart: slow.
  bool routing_audit = false;                  ///< As FleetControls::audit.
  cluster::DecisionSink* decisions = nullptr;  ///< Gets every decision of a cluster's gateways.
  cluster::StorySink* stories = nullptr;       ///< Gets what happened to each request of a cluster.
  /// Gather the run over simulated time, in at most so many windows (metrics::Timeline).
  std::optional<std::size_t> series_windows = {};
  domain::TokenSink* tokens = nullptr;    ///< Gets tokens as they come out: slow, without jumps.
  domain::RecordSink* records = nullptr;  ///< Gets each record at once, those of steps too.
  engine::KvEventSinks* kv_events = nullptr;  ///< Get the prefix caches' changes; of vLLM alone.
  bool is_pushed = false;  ///< Requests come from outside: none is known before it arrives.
  HostParts host_parts = {};
};

/// What a run gave.
struct RunOutcome {
  metrics::Summary summary;
  engine::EngineTotals totals;
  std::optional<metrics::Series> series;  ///< Where it was asked for.
  std::string digest;
  core::Warnings warnings;
  bool partial = false;  ///< Interrupted.
  /// Requests of a trace that went to other data-parallel ranks.
  std::int64_t of_other_ranks = 0;
};

/// Runs the deployment, one instance or a cluster of them, through a workload (sim/driver.hpp).
/// Fails where the source does (a bad row of a trace), with its errors.
[[nodiscard]] core::Result<RunOutcome> simulate(const scenario::Resolved& resolved,
                                                workload::Source& source,
                                                const RunControls& controls);

}  // namespace ridgeline::sim

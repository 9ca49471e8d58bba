#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "core/time.hpp"
#include "engine/engine.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "sim/resolve.hpp"
#include "sim/step_watch.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// How far a run has come.
struct Progress {
  core::SimTime now;
  std::int64_t done = 0;              ///< Requests that have ended.
  std::optional<std::int64_t> total;  ///< Requests in all, when known.
};

enum class EngineCore : std::uint8_t { kFast, kReference };

/// How to run, as far as it changes no result.
struct RunControls {
  EngineCore core = EngineCore::kFast;
  bool jump = true;                              ///< Advance equal steps in closed form.
  const std::atomic<bool>* interrupt = nullptr;  ///< Set: stop soon, with what there is.
  std::function<void(const Progress&)> progress = {};
  metrics::Listener* listener = nullptr;
  StepListener* steps = nullptr;  ///< Every step taken apart: slow.
};

/// What a run gave.
struct RunOutcome {
  metrics::Summary summary;
  engine::EngineTotals totals;
  std::string digest;
  core::Warnings warnings;
  bool partial = false;  ///< Interrupted.
};

/// Drives one engine through a workload: requests pass the frontend and are submitted at the
/// instants they reach the queue, before the batch of that instant is formed; completions go back
/// to closed loops. Fails where the source does (a bad row of a trace), with its errors.
[[nodiscard]] core::Result<RunOutcome> simulate(const Resolved& resolved,
                                                workload::Source& source,
                                                const RunControls& controls);

}  // namespace ridgeline::sim

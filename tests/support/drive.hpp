#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "latency/step_time_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::test {

/// For advance(): as many segments as there are.
inline constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

enum class Twin : std::uint8_t {
  kReference,
  kQuiet,  ///< The reference twin, through its quiet steps at once.
  kStepping,
  kJumping,
};

struct EngineRun {
  RecordingSink sink;
  engine::EngineTotals totals;
  core::SimTime end;
  bool past_horizon = false;  ///< It stopped before a batch that would have ended too late.
};

/// A client that gives up.
struct Abort {
  core::SimTime at;
  core::RequestId id;
};

/// Submits each request at its arrival (no request path), aborts those that `aborts` names in order
/// of time, and runs until everything has ended, or the horizon; says which.
inline engine::Pause drive(engine::Engine& engine,
                           const std::vector<domain::Request>& requests,
                           const std::vector<Abort>& aborts = {}) {
  using Pause = engine::Pause;
  auto abort = aborts.begin();
  auto request = requests.begin();
  while (abort != aborts.end() || request != requests.end()) {
    const bool gives_up =
        abort != aborts.end() && (request == requests.end() || abort->at < request->arrival);
    if (engine.advance(gives_up ? abort->at : request->arrival, false, kNoBudget) ==
        Pause::kHorizon) {
      return Pause::kHorizon;
    }
    if (gives_up) {
      engine.abort(abort->id, std::max(abort->at, engine.now()));
      ++abort;
    } else {
      engine.submit(*request, request->arrival);
      ++request;
    }
  }
  return engine.advance(core::SimTime::never(), false, kNoBudget);
}

inline EngineRun run_engine(const engine::EngineOptions& options,
                            const latency::StepTimeModel& model,
                            const engine::HostTime& host,
                            const std::vector<domain::Request>& requests,
                            Twin twin,
                            const std::vector<Abort>& aborts = {},
                            core::SimTime horizon = core::SimTime::last()) {
  EngineRun run;
  const engine::EngineInputs inputs{
      .options = options, .model = model, .host = host, .sink = run.sink, .horizon = horizon};
  const auto engine = [&] {
    if (twin == Twin::kReference) {
      return engine::make_reference_engine(inputs);
    }
    if (twin == Twin::kQuiet) {
      return engine::make_step_engine(engine::schedulers().front(), inputs, true);
    }
    return engine::make_fast_engine(inputs, twin != Twin::kStepping);
  }();
  const auto pause = drive(*engine, requests, aborts);
  run.past_horizon = pause == engine::Pause::kHorizon;
  run.totals = engine->totals();
  run.end = engine->now();
  return run;
}

}  // namespace ridgeline::test

#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::test {

enum class Twin : std::uint8_t { kReference, kStepping, kJumping };

struct EngineRun {
  RecordingSink sink;
  engine::EngineTotals totals;
  core::SimTime end;
};

/// Submits each request at its arrival (no request path) and runs until everything has ended.
inline void drive(engine::Engine& engine, const std::vector<domain::Request>& requests) {
  constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();
  for (const auto& request : requests) {
    engine.advance(request.arrival, false, kNoBudget);
    engine.submit(request, request.arrival);
  }
  engine.advance(core::SimTime::never(), false, kNoBudget);
}

inline EngineRun run_engine(const engine::EngineOptions& options,
                            const latency::StepTimeModel& model,
                            const engine::HostTime& host,
                            const std::vector<domain::Request>& requests,
                            Twin twin) {
  EngineRun run;
  const engine::EngineInputs inputs{
      .options = options, .model = model, .host = host, .sink = run.sink};
  const auto engine = twin == Twin::kReference
                          ? engine::make_reference_engine(inputs)
                          : engine::make_fast_engine(inputs, twin == Twin::kJumping);
  drive(*engine, requests);
  run.totals = engine->totals();
  run.end = engine->now();
  return run;
}

}  // namespace ridgeline::test

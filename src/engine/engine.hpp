#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/kv_connector.hpp"
#include "engine/kv_events.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {

/// The scheduler, KV cache and GPU of one instance on simulated time: a Server (engine/server.hpp)
/// without the path from the client to the waiting queue.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// A request reaches the waiting queue at `queued` (not before any earlier one, nor before now();
  /// not after EngineInputs::horizon).
  virtual void submit(const domain::Request& request, core::SimTime queued) = 0;
  /// As Server::abort().
  virtual void abort(core::RequestId id, core::SimTime at) = 0;

  /// As submit(), of a request of which this engine computes a part (EngineOptions::kv_transfer).
  virtual void submit_leg(const domain::Request& request, core::SimTime queued, const Leg& leg) {
    RIDGELINE_CHECK(leg == Leg(), "KV from elsewhere without kv_transfer");
    submit(request, queued);
  }
  /// The KV of a request that loads is there, or (`arrived` false) never comes and is computed
  /// here. `at`: not before now(); every instant before it is done. Seen by the next scheduling
  /// from then on. Nothing happens where the request has left.
  virtual void finish_load(LoadId id, core::SimTime at, bool arrived) {
    static_cast<void>(id);
    static_cast<void>(at);
    static_cast<void>(arrived);
  }
  /// The blocks of a finished request that holds them are free. Nothing happens where none are.
  virtual void release_blocks(core::RequestId id, core::SimTime at) {
    static_cast<void>(id);
    static_cast<void>(at);
  }
  /// Keeps KV outside the GPUs from now on: before the first request, where
  /// EngineOptions::kv_transfer holds. The connector outlives the engine.
  virtual void connect(KvConnector& connector) {
    static_cast<void>(connector);
    RIDGELINE_CHECK(false, "KV outside the GPUs without kv_transfer");
  }
  /// As Server::advance().
  virtual Pause advance(core::SimTime limit,
                        bool pause_at_completion,
                        std::int64_t max_segments) = 0;

  /// The instant reached.
  [[nodiscard]] virtual core::SimTime now() const = 0;
  /// When the engine next acts, unless a request is submitted or aborted before: now() where a
  /// batch is due, the end of the oldest step in flight, or never() where it is idle.
  [[nodiscard]] virtual core::SimTime next_instant() const = 0;
  /// No request ends before this instant, and none gets its first token where those are reported
  /// (EngineInputs::first_tokens), unless a request is submitted or aborted before: a lower bound,
  /// not before next_instant(). Exact in the fast engine while requests only decode on one line of
  /// the step-time model. A query: changes no result. The request that ends next may be fetched
  /// from memory (core/fetch.hpp).
  [[nodiscard]] virtual core::SimTime next_visible() = 0;
  /// next_visible() if that request is submitted at `at`, and none before. Exact in the fast engine
  /// where first tokens are reported, and a prompt of its own is sure to be taken whole beside
  /// decodes.
  [[nodiscard]] virtual core::SimTime next_visible_with(const domain::Request& request,
                                                        core::SimTime at) {
    static_cast<void>(request);
    return std::min(next_visible(), at);
  }
  /// As Server::state().
  [[nodiscard]] virtual InstanceState state(core::SimTime at) const = 0;
  /// How many leading tokens of the request's prompt the prefix cache holds now: what it would not
  /// compute if it were admitted at once. A query: changes no result.
  [[nodiscard]] virtual core::Tokens cached_prefix(const domain::Request& request) = 0;
  /// cached_prefix() when all before `look.as_of` had happened, and nothing later: what KV events
  /// with that delay have reported. Requires that it is not longer before now() than
  /// EngineInputs::kv_history says. An engine without a history answers for now.
  [[nodiscard]] virtual core::Tokens cached_prefix_at(const domain::Request& request,
                                                      const KvLook& look) {
    RIDGELINE_CHECK(look.as_of >= now() && look.since == core::SimTime(),
                    "an engine without a history is asked of now");
    return cached_prefix(request);
  }
  [[nodiscard]] virtual EngineTotals totals() const = 0;
  /// Reports every request still inside as unfinished and forgets it.
  virtual void drop_all() = 0;

  /// The engine dies at `at` (every instant before it is done): every request inside is reported as
  /// failed. Only its totals may be asked for afterwards.
  virtual void fail_all(core::SimTime at) = 0;
  /// Nothing happened from `from` (every instant before it is done) to `until`: what was to come is
  /// so much later.
  virtual void stall(core::SimTime from, core::SimTime until) = 0;
  /// The step-time model answers otherwise from now on. Steps in flight keep the time they have.
  virtual void forget_step_times() = 0;
};

/// References outlive the engine.
struct EngineInputs {
  const EngineOptions& options;
  const latency::StepTimeModel& model;
  const HostTime& host;
  domain::RecordSink& sink;
  /// Whose records they are; none where an engine runs on its own.
  core::InstanceId instance = {};
  /// No batch may end later.
  core::SimTime horizon = core::SimTime::last();
  /// Gets the tokens of each step, where there is one: the engine then takes no steps together.
  domain::TokenSink* tokens = nullptr;
  /// Gets the first token of each request, where there is one.
  domain::FirstTokenSink* first_tokens = nullptr;
  /// History of the prefix cache. Where there is one the step loop runs, without jumps.
  KvHistory kv_history = {};
  LoadSink* loads = nullptr;  ///< Needed where legs load.
  /// Gets what changes in the prefix cache, where there is one: of vLLM alone, in the step loop,
  /// without jumps.
  KvEventSink* kv_events = nullptr;
};

/// The scheduler that the options name in the step loop (engine/loop), step by step: the plain
/// twin, which the fast one is tested against. Users know it as --engine-core reference.
std::unique_ptr<Engine> make_reference_engine(const EngineInputs& inputs);
/// The one that users run: the scheduler's fast engine if it has one that covers the options, the
/// step loop with jumps otherwise. `jump` off steps one by one, with the same results.
std::unique_ptr<Engine> make_fast_engine(const EngineInputs& inputs, bool jump);

}  // namespace ridgeline::engine

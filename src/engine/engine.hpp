#pragma once

#include <cstdint>
#include <memory>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {

/// Totals of a run that no record repeats. Equal between the twins, with and without jumps.
struct EngineTotals {
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
  domain::StepTime step_time;   ///< Sum over steps.
  core::Duration busy;          ///< Sum of step periods spent executing.
  core::Tokens prefix_queries;  ///< Tokens looked up in the prefix cache.
  core::Tokens prefix_hits;     ///< Of those, found.
  core::Blocks peak_used_blocks;
  /// Sum over steps of used blocks after scheduling, times the step's duration: block-picoseconds,
  /// as a double computed from exact integers once at the end.
  double used_block_seconds = 0.0;
  std::int64_t jumped_steps =
      0;  ///< Steps advanced in closed form (differs by --no-jump; not in the digest).
};

/// One serving instance on simulated time. The driver's loop:
///
///   while (work remains) {
///     submit every request whose queued time is <= the next instant;
///     engine.advance(limit);   // limit: the next queued time, or SimTime::never()
///   }
class Engine {
 public:
  enum class Pause : std::uint8_t {
    kLimit,       ///< Every instant before `limit` is done, and none in which more could matter.
    kCompletion,  ///< Requests finished at now(); not yet scheduled at that instant (only if asked
                  ///< for).
    kIdle,        ///< Nothing left to do until a request is submitted.
    kBudget,      ///< Ran `max_segments` segments: time to look at progress and interrupts.
    kHorizon,     ///< The next batch would end after EngineInputs::horizon: nothing is to be done
                  ///< with this engine any more.
  };

  virtual ~Engine() = default;

  /// A request reaches the waiting queue at `queued` (not before any earlier one, nor, unless
  /// EngineInputs::late_submits, before now(); not after EngineInputs::horizon).
  virtual void submit(const domain::Request& request, core::SimTime queued) = 0;

  /// The client of a request gives up at `at` (not before now(); every instant before it is done):
  /// the request is reported as aborted and gives its blocks back; what steps in flight compute for
  /// it is thrown away. Whoever is not inside any more is let be.
  virtual void abort(core::RequestId id, core::SimTime at) = 0;

  /// Processes every instant before `limit`; with EngineInputs::late_submits also later ones, up to
  /// one at which it matters whether a request has reached the queue since `limit`. With
  /// `pause_at_completion` it returns as soon as requests have finished, before the batch of that
  /// instant is formed, so that a closed loop can add to it.
  virtual Pause advance(core::SimTime limit,
                        bool pause_at_completion,
                        std::int64_t max_segments) = 0;

  /// The instant reached.
  [[nodiscard]] virtual core::SimTime now() const = 0;
  [[nodiscard]] virtual std::int64_t num_running() const = 0;
  [[nodiscard]] virtual std::int64_t num_waiting() const = 0;
  [[nodiscard]] virtual EngineTotals totals() const = 0;
  /// Reports every request still inside as unfinished and forgets it.
  virtual void drop_all() = 0;
};

/// References outlive the engine.
struct EngineInputs {
  const EngineOptions& options;
  const latency::StepTimeModel& model;
  const HostTime& host;
  domain::RecordSink& sink;
  /// Requests may be submitted after they have reached the queue, as far as advance() lets them;
  /// nobody aborts. Changes no result but in which order refusals are reported among others.
  bool late_submits = false;
  /// No batch may end later.
  core::SimTime horizon = core::SimTime::last();
};

/// The plain twin: objects, one loop per token, written to be read; the oracle of the other.
std::unique_ptr<Engine> make_reference_engine(const EngineInputs& inputs);
/// The one that users run. `jump` off steps one by one, with the same results.
std::unique_ptr<Engine> make_fast_engine(const EngineInputs& inputs, bool jump);

}  // namespace ridgeline::engine

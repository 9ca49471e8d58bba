#pragma once

#include <cstdint>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "domain/step_time_sum.hpp"

namespace ridgeline::engine {

/// Totals of a run that no record repeats. Equal between the twins, with and without jumps.
struct EngineTotals {
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
  domain::StepTimeSum step_time;
  core::TimeSum busy;           ///< Sum of step periods spent executing.
  core::Tokens prefix_queries;  ///< Tokens looked up in the prefix cache.
  core::Tokens prefix_hits;     ///< Tokens found there.
  core::Blocks peak_used_blocks;
  /// Sum over steps of used blocks after scheduling, times the step's duration: block-picoseconds,
  /// as a double computed from exact integers once at the end.
  double used_block_seconds = 0.0;
  std::int64_t jumped_steps =
      0;  ///< Steps advanced in closed form (differs by --no-jump; not in the digest).
};

/// The gauges of an instance at one instant.
struct InstanceState {
  core::SimTime at;
  std::int64_t running = 0;  ///< Requests that hold a seat.
  std::int64_t waiting = 0;  ///< Requests in the engine's queue, preempted ones included.
  core::Tokens queued_prompt_tokens = {};  ///< Sum of the prompt lengths of the waiting requests.
  core::Blocks used_blocks = {};           ///< KV blocks that running requests hold.
  core::Blocks free_blocks = {};           ///< The other KV blocks, cached prefixes included.

  friend bool operator==(const InstanceState&, const InstanceState&) = default;
};

/// Why advance() returned.
enum class Pause : std::uint8_t {
  kLimit,       ///< Every instant before the limit is done.
  kCompletion,  ///< Requests ended at now(); the batch of that instant is not formed yet. Only
                ///< where the caller asked for it.
  kIdle,        ///< Nothing is left to do until a request is submitted.
  kBudget,      ///< `max_segments` segments are done: time to look at progress and interrupts.
  kHorizon,     ///< The next batch would end after the horizon: the run is over.
};

/// What serves requests on simulated time, as its clients see it: one instance, or a cluster of
/// them. The driver's loop (sim/driver.hpp):
///
///   while (work remains) {
///     submit the next requests, in the order in which they are sent;
///     server.advance(limit);   // limit: the next instant at which the driver has something to do
///   }
class Server {
 public:
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  /// A client sends a request at `request.arrival`: not before an earlier request's, nor before
  /// now(). It may lie in the future.
  virtual void submit(const domain::Request& request) = 0;

  /// The client of a request gives up at `at` (not before now(); every instant before it is done):
  /// the request is reported as aborted and gives its blocks back. What steps in flight compute for
  /// it is thrown away. A request that has ended already is left as it is.
  virtual void abort(core::RequestId id, core::SimTime at) = 0;

  /// Processes every instant before `limit`. With `pause_at_completion` it returns as soon as
  /// requests have ended, before the batch of that instant is formed, so that a closed loop can
  /// send the next request.
  virtual Pause advance(core::SimTime limit,
                        bool pause_at_completion,
                        std::int64_t max_segments) = 0;

  /// The gauges at `at`, which lies between now() and the next instant at which something happens:
  /// advance(at) has returned kLimit or kIdle.
  [[nodiscard]] virtual InstanceState state(core::SimTime at) const = 0;

  /// When it next acts, unless a request is submitted or aborted before: never() where it is idle.
  [[nodiscard]] virtual core::SimTime next_instant() const = 0;
  /// The instant reached.
  [[nodiscard]] virtual core::SimTime now() const = 0;
  [[nodiscard]] virtual EngineTotals totals() const = 0;
  /// The run is interrupted: reports every request sent by now() that has not ended as unfinished,
  /// and forgets all.
  virtual void drop_all() = 0;
};

}  // namespace ridgeline::engine

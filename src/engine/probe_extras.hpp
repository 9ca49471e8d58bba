#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"

namespace ridgeline::engine {

/// What a scheduler probe may offer besides SchedulerProbe: KV that moves over time, what a server
/// is asked to do, and which of the two queues a waiting request stands in.
class ProbeExtras {
 public:
  virtual ~ProbeExtras() = default;

  /// Adds a request of which a part is computed elsewhere.
  virtual void add_leg(const domain::Request& request, const Leg& leg) = 0;
  /// Requests whose KV is on the way, in order of their ids.
  [[nodiscard]] virtual std::vector<core::RequestId> loading() const = 0;
  /// Waiting requests that have not taken their KV up yet, though it may have come.
  [[nodiscard]] virtual std::vector<core::RequestId> parked() const = 0;
  /// The KV of one that loads is there, also when it was aborted meanwhile.
  virtual void finish_load(core::RequestId id) = 0;
  /// Nothing of the KV that it waits for has come.
  virtual void fail_load(core::RequestId id) = 0;
  /// Loads have left these blocks empty, of requests that wait or are in the oldest step in flight.
  /// Returns the requests that compute them anew.
  virtual std::vector<core::RequestId> lose_blocks(const std::vector<core::BlockId>& blocks) = 0;
  /// The blocks of a finished request have been read (Leg::holds_blocks).
  virtual void release_blocks(core::RequestId id) = 0;
  /// New requests are kept out, or all wait, or none of these.
  virtual void pause_new() = 0;
  virtual void pause_all() = 0;
  virtual void resume() = 0;
  /// Forgets what the prefix cache holds: running requests are preempted first, or it is refused,
  /// with false, while a request holds a block.
  virtual bool reset_prefix_cache(bool preempts) = 0;
  /// How many of SchedulerProbe::waiting() stand in the queue of those passed over: its first ones.
  [[nodiscard]] virtual std::int64_t num_passed_over() const = 0;
};

}  // namespace ridgeline::engine

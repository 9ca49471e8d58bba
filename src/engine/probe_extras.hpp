#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "domain/request.hpp"
#include "engine/kv_connector.hpp"
#include "engine/leg.hpp"

namespace ridgeline::engine {

/// What a scheduler probe may offer besides SchedulerProbe: KV that moves over time, what a server
/// is asked to do, and which of the two queues a waiting request stands in.
class ProbeExtras {
 public:
  virtual ~ProbeExtras() = default;

  /// Adds a request of which a part is computed elsewhere.
  virtual void add_leg(const domain::Request& request, const Leg& leg) = 0;
  /// The images of a request's prompt.
  virtual void note_images(core::RequestId id, const std::vector<Image>& images) = 0;
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
  /// KV is kept outside the GPUs from now on; before any request.
  virtual void connect(KvConnector& connector) = 0;
  /// The hashes of a request's full blocks.
  [[nodiscard]] virtual std::vector<std::uint64_t> hashes(core::RequestId id) = 0;
  /// The next input of a streaming session (Leg::is_session): its segments and limits.
  virtual void send(core::RequestId id, const domain::Request& input) = 0;
  /// No more input comes; true if the session ends at once.
  virtual bool close(core::RequestId id) = 0;
  /// Sessions that wait for input, in order.
  [[nodiscard]] virtual std::vector<core::RequestId> asleep() const = 0;
  /// Images that the last step encodes, by their places in the list.
  using Encoded = std::vector<std::pair<core::RequestId, std::vector<std::size_t>>>;
  [[nodiscard]] virtual Encoded encoded() const = 0;
  /// How many of SchedulerProbe::waiting() stand in the queue of those passed over: its first ones.
  [[nodiscard]] virtual std::int64_t num_passed_over() const = 0;
};

}  // namespace ridgeline::engine

#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::engine {

/// Full blocks of a request, one behind the other, that a prefix cache finds from now on.
struct StoredBlocks {
  core::RequestId request;
  std::int64_t first = 0;                 ///< The number of the first of them in the request.
  std::span<const std::uint64_t> hashes;  ///< At least one.
  std::optional<std::uint64_t> parent;    ///< Hash of the block before the first, if there is one.
};

/// What vLLM's KV events tell of a prefix cache: blocks that come and go. One event for each block
/// and cache group: two blocks with one hash come twice and go twice.
class KvEventSink {
 public:
  KvEventSink() = default;
  KvEventSink(const KvEventSink&) = delete;
  KvEventSink& operator=(const KvEventSink&) = delete;
  virtual ~KvEventSink() = default;

  virtual void on_stored(const StoredBlocks& blocks) = 0;
  /// A block with this hash was taken for something else.
  virtual void on_removed(std::uint64_t hash) = 0;
  /// No block is found any more.
  virtual void on_cleared() = 0;
  /// A step has ended: vLLM publishes now what has happened since the last one.
  virtual void on_step_end(core::SimTime end) = 0;
};

/// The sinks of a fleet, which outlive it.
class KvEventSinks {
 public:
  KvEventSinks() = default;
  KvEventSinks(const KvEventSinks&) = delete;
  KvEventSinks& operator=(const KvEventSinks&) = delete;
  virtual ~KvEventSinks() = default;

  [[nodiscard]] virtual KvEventSink& of(core::InstanceId instance) = 0;
};

}  // namespace ridgeline::engine

#pragma once

#include <cstdint>
#include <span>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::engine {

/// KV that an engine keeps outside its GPUs, as its scheduler asks for it (vLLM's KV connector).
/// Blocks are named by the hashes of a request's full blocks, in order; each stands for all before
/// it.
class KvConnector {
 public:
  using Hashes = std::span<const std::uint64_t>;

  KvConnector() = default;
  KvConnector(const KvConnector&) = delete;
  KvConnector& operator=(const KvConnector&) = delete;
  virtual ~KvConnector() = default;

  /// The instant of the calls to come, not before an earlier one.
  virtual void set_now(core::SimTime now) = 0;
  /// How many blocks behind the first `local` ones, which the GPUs hold, can be loaded now; below
  /// zero where that is not known yet, and the request is passed over. Asked of a request that
  /// waits at each scheduling.
  [[nodiscard]] virtual std::int64_t find(core::RequestId request,
                                          Hashes hashes,
                                          std::int64_t local) = 0;
  /// A request gets its blocks. The `loaded` ones behind the first `local` are loaded, and it waits
  /// for Engine::finish_load() with the number that this returns; 0: it runs at once.
  virtual std::uint64_t begin(core::RequestId request,
                              Hashes hashes,
                              std::int64_t local,
                              std::int64_t loaded) = 0;
  /// A step has ended, and these blocks of the request are computed; of those, the first `before`
  /// were at an earlier call.
  virtual void store(core::RequestId request, Hashes hashes, std::int64_t before) = 0;
  /// Whether blocks of answers are stored too, not of prompts alone.
  [[nodiscard]] virtual bool stores_answers() const = 0;
  /// A request leaves. True if blocks of it are still read from the GPUs: they stay until
  /// Engine::release_blocks().
  [[nodiscard]] virtual bool hold(core::RequestId request) = 0;
};

}  // namespace ridgeline::engine

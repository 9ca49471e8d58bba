#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "domain/prompt.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// What the prefix caches of a run's instances hold when it ends, as the requests that left it
/// there: the last ones, in the order in which they ended. A cache that serves them anew, one after
/// the other, holds the same blocks, to be evicted in the same order.
struct CacheState {
  struct Entry {
    std::int64_t tokens =
        0;  ///< That were computed or found: prompt and all of the answer but one.
    std::int64_t new_blocks = 0;  ///< Blocks that were not found. Not in files.
    domain::Prompt prompt = {};   ///< What other requests can find of them.
  };
  struct Instance {
    std::string model;
    std::deque<Entry> requests = {};
  };
  std::vector<Instance> instances;
};

/// Keeps the state of the caches while a run goes on; memory follows the caches. Requests that did
/// not end well leave nothing here, and those of an adapter nothing that is found.
class CacheStateKeeper final : public metrics::Listener {
 public:
  /// `resolved` outlives it.
  explicit CacheStateKeeper(const scenario::Resolved& resolved);

  void on_arrival(const domain::Request& request) override;
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override;

  [[nodiscard]] const CacheState& state() const { return state_; }

 private:
  /// One instance's cache.
  struct Capacity {
    std::int64_t block_tokens = 0;
    std::int64_t blocks = 0;
    std::int64_t new_blocks = 0;  ///< New blocks of the requests kept.
  };

  CacheState state_;
  std::vector<Capacity> capacities_;                ///< By instance.
  std::map<core::RequestId, domain::Prompt> here_;  ///< The prompts of requests under way.
};

/// As a file has it: data/schemas/cache-state.schema.json.
[[nodiscard]] std::string cache_state_text(const CacheState& state);
/// The state in a file. Fails with what is wrong with the file.
[[nodiscard]] core::Result<CacheState> read_cache_state(const std::string& path);

/// As cluster::ClusterInputs::warm_from, from the file that the scenario names; nothing where it
/// names none. Fails where the file is of other instances than the scenario's.
[[nodiscard]] core::Result<std::vector<std::vector<domain::Request>>> warm_requests(
    const scenario::Resolved& resolved);

}  // namespace ridgeline::sim

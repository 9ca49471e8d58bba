#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// What a capacity scheduler looks at. Source of the three: PyCapacityScheduler
/// (_torch/pyexecutor/scheduler/scheduler.py) and CapacityScheduler (capacityScheduler.cpp), which
/// agree.
struct CapacityInputs {
  std::span<Sequence* const> active;  ///< In the order of their arrival.
  const KvCache& kv;
  std::int64_t max_requests = 0;
  std::int64_t lookahead_steps = 1;  ///< Whose blocks maximum utilisation asks for.
  std::int64_t tokens_per_step = 1;  ///< Tokens that a generation takes: the next, and drafts.
  bool skips_duplicate_prefixes = false;
  /// Generations that are not among the active ones, and blocks that they still take.
  std::int64_t num_members = 0;
  std::int64_t blocks_of_members = 0;
};

/// The requests that have blocks for the next step, in order; and those that lose theirs.
struct Selection {
  std::vector<Sequence*> fitting;
  std::vector<Sequence*> paused;
  std::int64_t num_members = 0;  ///< CapacityInputs::num_members: all of them fit.

  void clear() {
    fitting.clear();
    paused.clear();
    num_members = 0;
  }
  [[nodiscard]] std::int64_t size() const { return std::ssize(fitting) + num_members; }
};

using CapacityScheduler = void (*)(const CapacityInputs& inputs, Selection& selection);
[[nodiscard]] CapacityScheduler capacity_scheduler(CapacityPolicy policy);

/// Every generation keeps what it needs to its last token; contexts come in, in order, while their
/// blocks to the last token are free. The first that does not fit ends the pass.
void guaranteed_no_evict(const CapacityInputs& inputs, Selection& selection);
/// In order, each request gets the blocks of the next step. For one that does not fit, the last
/// request that has started is paused.
void max_utilization(const CapacityInputs& inputs, Selection& selection);
/// As guaranteed_no_evict(), but contexts come in only where nothing generates.
void static_batch(const CapacityInputs& inputs, Selection& selection);

}  // namespace ridgeline::engine::tensorrt_llm

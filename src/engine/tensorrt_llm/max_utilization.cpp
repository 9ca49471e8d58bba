#include <cstddef>
#include <cstdint>
#include <map>

#include "core/ids.hpp"
#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/duplicate_prefixes.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

/// Blocks free for this step, with those of paused requests.
class StepBlocks {
 public:
  explicit StepBlocks(const CapacityInputs& inputs)
      : inputs_(inputs), free_(inputs.kv.num_free()) {}

  /// Takes the blocks of a request's next steps; false where there are fewer.
  [[nodiscard]] bool try_take(const Sequence& sequence) {
    const std::int64_t blocks =
        inputs_.kv.blocks_for_steps(sequence, inputs_.lookahead_steps, inputs_.tokens_per_step);
    if (taken_ + blocks > free_) {
      return false;
    }
    taken_ += blocks;
    return true;
  }
  /// A paused request gives back the blocks that no other holds.
  void give_back(const Sequence& paused) {
    for (const core::BlockId block : paused.blocks) {
      const std::int64_t holders = inputs_.kv.references(block);
      free_ += holders == 1 || ++given_back_[block] == holders ? 1 : 0;
    }
  }

 private:
  const CapacityInputs& inputs_;
  std::int64_t free_;
  std::int64_t taken_ = 0;
  std::map<core::BlockId, std::int64_t> given_back_;  ///< How often, by shared block.
};

}  // namespace

void max_utilization(const CapacityInputs& inputs, Selection& selection) {
  StepBlocks blocks(inputs);
  DuplicatePrefixes prefixes(inputs);
  std::size_t end = inputs.active.size();
  for (std::size_t i = 0; i < end;) {
    Sequence& sequence = *inputs.active[i];
    const bool waits = sequence.is_context() && prefixes.holds_back(sequence);
    if (waits) {
      ++i;
      continue;
    }
    if (selection.size() < inputs.max_requests && blocks.try_take(sequence)) {
      selection.fitting.push_back(&sequence);
      ++i;
      continue;
    }
    // The last started one, this one included.
    while (end > i && !inputs.active[end - 1]->holds_blocks) {
      --end;
    }
    if (end == i) {
      return;
    }
    --end;
    selection.paused.push_back(inputs.active[end]);
    blocks.give_back(*inputs.active[end]);
  }
}

}  // namespace ridgeline::engine::tensorrt_llm

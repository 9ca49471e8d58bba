#pragma once

#include <cstdint>

#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// Free blocks that are promised to requests until their last token.
class Reservation {
 public:
  explicit Reservation(const KvCache& kv) : kv_(kv), left_(kv.num_free()) {}

  void take_blocks(std::int64_t blocks) { left_ -= blocks; }
  /// Promises a generation what it still needs.
  void take(const Sequence& generation) { left_ -= kv_.blocks_to_completion(generation); }
  /// Promises a context its blocks; false where there are fewer left.
  [[nodiscard]] bool try_take(const Sequence& context) {
    const std::int64_t blocks = kv_.blocks_to_completion(context);
    if (blocks > left_) {
      return false;
    }
    left_ -= blocks;
    return true;
  }

 private:
  const KvCache& kv_;
  std::int64_t left_;
};

/// The first pass of both policies that reserve: all generations.
inline void keep_generations(const CapacityInputs& inputs,
                             Selection& selection,
                             Reservation& blocks) {
  selection.num_members = inputs.num_members;
  blocks.take_blocks(inputs.blocks_of_members);
  for (Sequence* const sequence : inputs.active) {
    if (selection.size() >= inputs.max_requests) {
      return;
    }
    if (!sequence->is_context()) {
      selection.fitting.push_back(sequence);
      blocks.take(*sequence);
    }
  }
}

}  // namespace ridgeline::engine::tensorrt_llm

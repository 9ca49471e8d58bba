#include "engine/tensorrt_llm/duplicate_prefixes.hpp"

#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

DuplicatePrefixes::DuplicatePrefixes(const CapacityInputs& inputs) : inputs_(inputs) {
  if (!inputs.skips_duplicate_prefixes) {
    return;
  }
  for (const Sequence* const sequence : inputs.active) {
    if (!sequence->is_started_context()) {
      continue;
    }
    if (const auto key = inputs.kv.first_new_block(*sequence)) {
      coming_.insert(*key);
    }
  }
}

bool DuplicatePrefixes::holds_back(const Sequence& context) {
  if (!inputs_.skips_duplicate_prefixes || context.holds_blocks) {
    return false;
  }
  const auto key = inputs_.kv.first_new_block(context);
  return key && !coming_.insert(*key).second;
}

}  // namespace ridgeline::engine::tensorrt_llm

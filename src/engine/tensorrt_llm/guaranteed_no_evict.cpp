#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/duplicate_prefixes.hpp"
#include "engine/tensorrt_llm/reservation.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

void guaranteed_no_evict(const CapacityInputs& inputs, Selection& selection) {
  Reservation blocks(inputs.kv);
  keep_generations(inputs, selection, blocks);
  DuplicatePrefixes prefixes(inputs);
  for (const bool loads : {true, false}) {  // Those whose KV comes from elsewhere go first.
    for (Sequence* const sequence : inputs.active) {
      if (!sequence->is_context() || sequence->loads != loads ||
          (!loads && prefixes.holds_back(*sequence))) {
        continue;
      }
      if (selection.size() >= inputs.max_requests || !blocks.try_take(*sequence)) {
        break;
      }
      selection.fitting.push_back(sequence);
    }
  }
  if (selection.size() > 0) {
    return;
  }
  // A context that was held back and then does not fit stands before one that has its blocks.
  // TensorRT-LLM waits for ever there (py_executor.py: "may not have enough kvCache"); here the
  // other goes on.
  for (Sequence* const sequence : inputs.active) {
    if (sequence->holds_blocks && selection.size() < inputs.max_requests) {
      selection.fitting.push_back(sequence);
    }
  }
}

}  // namespace ridgeline::engine::tensorrt_llm
